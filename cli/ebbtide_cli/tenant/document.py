"""Reads a declaration of tenants: TOML becomes policies, or all that is wrong with it. No I/O.

    [routes.NAME]      a summariser: the fields of `Hop`
    [default]          the policy of tenants that are not named, and what named ones begin with
    [tenants.NAME]     what is different for one tenant

Policies have the fields of `TenantPolicy`; their `route` lists names of routes, in the order of being tried.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import ValidationError

from ebbtide_core.contract.base import Contract
from ebbtide_core.contract.tenant import Hop, TenantPolicy
from ebbtide_core.economy.rates import Rates
from ebbtide_core.errors import EbbtideError, InputError
from ebbtide_core.names import checked_name

C = TypeVar("C", bound=Contract)
Table = Mapping[str, Any]

ROUTES, DEFAULT, TENANTS = SECTIONS = ("routes", "default", "tenants")

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_REFERENCE: Final = re.compile(r"env:[A-Za-z_]\w*|file:/.+|call:[\w./:-]+", re.ASCII)
"""How a credential is named. No key of any provider looks like one of these."""

_SECRETS: Final = ("key", "token", "secret", "password", "credential", "signature")
"""What names of query parameters hold that are no matter for an address."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at a place, such as `tenants.acme.weight`; not the value, which may be a secret."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


class DeclarationError(EbbtideError):
    """The file declares no tenants that could be applied; `problems` are all that were found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"nothing was applied: {len(problems)} to mend in the file{lines}")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The policy of each tenant that is named, and of all others; `default` is None when none is declared."""

    default: TenantPolicy | None = None
    tenants: Mapping[str, TenantPolicy] = field(default_factory=dict)


def read(data: bytes) -> Declaration:
    """Return what a file declares. Raises DeclarationError, naming all that is wrong."""
    try:
        document = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise DeclarationError([Problem("", f"not UTF-8, at byte {error.start}")]) from None
    except (ValueError, RecursionError) as error:
        raise DeclarationError([Problem("", f"not TOML: {error}")]) from None
    reader = _Reader()
    declared = reader.declaration(document)
    if reader.problems:
        raise DeclarationError(reader.problems)
    return declared


def within(place: str, key: object) -> str:
    """Return the place of a key in a table, as TOML spells it."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    name = str(key)
    spelled = name if _BARE.fullmatch(name) else json.dumps(name)
    return f"{place}.{spelled}" if place else spelled


class _Reader:
    """Reads tables and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def declaration(self, document: Table) -> Declaration:
        self._known("", document, SECTIONS)
        routes = {
            name: self._hop(within(ROUTES, name), table)
            for name, table in self._table(ROUTES, document.get(ROUTES, {})).items()
        }
        default = None
        if DEFAULT in document:
            default = self._policy(DEFAULT, document[DEFAULT], routes)
        tenants = {}
        for name, table in self._table(TENANTS, document.get(TENANTS, {})).items():
            place = within(TENANTS, name)
            self._tenant_name(place, name)
            tenants[name] = _over(default or TenantPolicy(), self._policy(place, table, routes))
        return Declaration(default, tenants)

    def _tenant_name(self, place: str, name: str) -> None:
        try:
            checked_name(name, "tenant")
        except InputError as error:
            self._wrong(place, error.problem)

    def _hop(self, place: str, given: Any) -> Hop:
        table = self._table(place, given)
        credentials, url = table.get("credentials"), table.get("base_url")
        if isinstance(credentials, str) and credentials and not _REFERENCE.fullmatch(credentials):
            self._wrong(within(place, "credentials"), _NO_REFERENCE)
        if isinstance(url, str) and _holds_secret(url):
            self._wrong(
                within(place, "base_url"), "holds a user, a password or a key; name it under credentials"
            )
        known = self._known(place, table, Hop.model_fields)
        return self._model(Hop, place, self._with_rates(place, known, "rates"))

    def _with_rates(self, place: str, table: Table, key: str) -> Table:
        """Return a table without unknown keys in the prices under `key`, and in those of long prompts."""
        rates = table.get(key)
        if not isinstance(rates, Mapping):
            return table
        at = within(place, key)
        known = self._known(at, rates, [each.name for each in fields(Rates)])
        return {**table, key: self._with_rates(at, known, "long")}

    def _policy(self, place: str, given: Any, routes: Mapping[str, Hop]) -> TenantPolicy:
        table = self._table(place, given)
        own = {name: value for name, value in table.items() if name != "route"}
        policy = self._model(TenantPolicy, place, self._known(place, own, TenantPolicy.model_fields))
        if "route" not in table:
            return policy
        at = within(place, "route")
        return _over(
            policy, self._model(TenantPolicy, place, {"route": self._route(at, table["route"], routes)})
        )

    def _route(self, place: str, given: Any, routes: Mapping[str, Hop]) -> list[Any]:
        if not isinstance(given, list):
            self._wrong(place, f"a list of names of routes, such as {_example(routes)}")
            return []
        return list(self._hops(place, given, routes))

    def _hops(self, place: str, given: list[Any], routes: Mapping[str, Hop]) -> Iterator[Any]:
        for index, name in enumerate(given):
            if isinstance(name, str) and name in routes:
                yield routes[name].model_dump(mode="json")
            elif isinstance(name, str):
                self._wrong(within(place, index), f"there is no route of this name{_nearest(name, routes)}")
            else:
                self._wrong(within(place, index), "the name of a route")

    def _table(self, place: str, given: Any) -> Table:
        if isinstance(given, Mapping):
            return given
        self._wrong(place, f"a table: [{place}]")
        return {}

    def _known(self, place: str, table: Table, known: Collection[str]) -> Table:
        """Return a table without the keys that mean nothing; each of them is a problem."""
        for key in table:
            if key not in known:
                self._wrong(within(place, key), f"there is no such key{_nearest(key, known)}")
        return {key: value for key, value in table.items() if key in known}

    def _model(self, model: type[C], place: str, table: Table) -> C:
        """Return the model of a table, one without any of its fields when something is wrong."""
        try:
            return model.model_validate_json(json.dumps(table, default=_no_json), strict=True)
        except ValidationError as error:
            for wrong in error.errors(include_input=False, include_url=False, include_context=False):
                self._wrong(_at(place, wrong["loc"]), wrong["msg"])
            return model()

    def _wrong(self, place: str, what: str) -> None:
        self.problems.append(Problem(place, what))


_NO_REFERENCE: Final = (
    "no reference to a credential (not shown): write env:NAME, file:/path or call:name, "
    "and keep the key itself out of this file"
)


def _over(base: TenantPolicy, own: TenantPolicy) -> TenantPolicy:
    """Return a policy with those fields over it that were given in another."""
    given = {name: getattr(own, name) for name in own.model_fields_set}
    return base.model_copy(update=given)


def _holds_secret(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    named = {name.lower() for name, _ in parse_qsl(parts.query)}
    return "@" in parts.netloc or any(word in name for word in _SECRETS for name in named)


def _at(place: str, path: tuple[int | str, ...]) -> str:
    for key in path:
        place = within(place, key)
    return place


def _nearest(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    if near:
        return f"; did you mean {within('', near[0])}?"
    return f"; there are: {', '.join(within('', each) for each in sorted(known))}" if known else ""


def _example(routes: Collection[str]) -> str:
    return json.dumps([min(routes, default="fast")])


def _no_json(value: object) -> dict[str, str]:
    """Stand for a value of TOML that JSON has not, a date or a time, with one that no field takes."""
    return {"type": type(value).__name__}
