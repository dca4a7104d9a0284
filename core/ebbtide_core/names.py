"""Every key of the state store, built here and nowhere else.

A key is `ebbtide:<contract major>:{<tag>}:<rest>`. The tag in braces decides the cluster slot, so that all
keys of one owner (a session, a tenant, the fleet) live together and one script can touch them. Names are
percent-encoded into the tag, so no two owners can collide whatever their names hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from ebbtide_core.errors import InputError, LimitError

CONTRACT_MAJOR: Final = 1
MAX_NAME_BYTES: Final = 256
_ROOT: Final = f"ebbtide:{CONTRACT_MAJOR}:"
_OF_SESSION: Final = re.compile(rf"{_ROOT}\{{s:(?P<tenant>[^:{{}}]+):(?P<session>[^:{{}}]+)\}}:")


def checked_name(name: object, what: str) -> str:
    """Return the name. Raises LimitError unless it is 1 to 256 bytes of UTF-8 without control characters."""
    if not isinstance(name, str):
        raise InputError(f"{what} must be a string, not {type(name).__name__}", path=what)
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise LimitError(f"{what} holds a lone surrogate", path=what) from None
    if not 1 <= size <= MAX_NAME_BYTES:
        raise LimitError(f"{what} has {size} bytes, 1 to {MAX_NAME_BYTES} allowed", path=what)
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        raise LimitError(f"{what} holds a control character", path=what)
    return name


def encoded(name: str) -> str:
    """Return the name with everything but letters, digits and `_.-~` percent-encoded: injective, no
    `:{}/`."""
    return quote(name, safe="")


@dataclass(frozen=True, slots=True)
class Owner:
    """One session of one tenant: `(tenant, session_id)` names all its state."""

    tenant: str
    session_id: str

    @classmethod
    def of(cls, tenant: object, session_id: object) -> Owner:
        """Return the owner after checking both names."""
        return cls(checked_name(tenant, "tenant"), checked_name(session_id, "session_id"))

    @property
    def member(self) -> str:
        """The session as one word of the ready index: `tenant/session`, both encoded."""
        return f"{encoded(self.tenant)}/{encoded(self.session_id)}"

    @classmethod
    def from_member(cls, member: str) -> Owner:
        """Return the owner that `member` names."""
        tenant, _, session_id = member.partition("/")
        return cls(unquote(tenant), unquote(session_id))

    @classmethod
    def from_key(cls, key: str) -> Owner:
        """Return the owner of a session's key. Raises ValueError for any other key."""
        found = _OF_SESSION.match(key)
        if not found:
            raise ValueError("not a key of a session")
        return cls(unquote(found["tenant"]), unquote(found["session"]))

    def _key(self, rest: str) -> str:
        return f"{_ROOT}{{s:{encoded(self.tenant)}:{encoded(self.session_id)}}}:{rest}"

    def kind(self, key: str) -> str:
        """Return the kind of one of the session's keys, `state` or `seg`. Raises ValueError for another's."""
        root = self._key("")
        if not key.startswith(root):
            raise ValueError("a key of another owner")
        return key.removeprefix(root).partition(":")[0]

    @property
    def pattern(self) -> str:
        """What SCAN finds all keys of the session by; names are encoded, so nothing in them is a wildcard."""
        return self._key("*")

    @property
    def state(self) -> str:
        """Hash: the session's protocol state."""
        return self._key("state")

    @property
    def tally(self) -> str:
        """Hash: how often what happened to the session's jobs."""
        return self._key("tally")

    @property
    def review(self) -> str:
        """List: the session's degraded turns, newest first."""
        return self._key("review")

    @property
    def memos(self) -> str:
        """Sorted set: which memos of the tenant hold partials of the session."""
        return self._key("memos")

    def record(self, version: int) -> str:
        """String: the compressed record of a version."""
        return self._key(f"rec:{version}")

    def manifest(self, manifest_id: str) -> str:
        """String: a compressed manifest, named by its content."""
        return self._key(f"man:{manifest_id}")

    def segment(self, digest: str) -> str:
        """String: a compressed run of messages, named by its content."""
        return self._key(f"seg:{digest}")


def memo(tenant: str, digest: str) -> str:
    """String: the memoised partial of one chunk, for one tenant."""
    return f"{_ROOT}{{t:{encoded(tenant)}}}:memo:{digest}"


def tenant_policy(tenant: str) -> str:
    """String: a tenant's policy as JSON. With the index's limits, all that never runs out."""
    return f"{_ROOT}{{t:{encoded(tenant)}}}:policy"


def tenant_block(tenant: str) -> str:
    """String: why no summary can be made for a tenant at present; it runs out with the block."""
    return f"{_ROOT}{{t:{encoded(tenant)}}}:block"


def account(account_id: str) -> str:
    """Hash: limiter and breaker of one provider account, shared by all workers."""
    return f"{_ROOT}{{a:{encoded(account_id)}}}:state"


def accounts() -> str:
    """Return what SCAN finds the key of each provider account by."""
    return f"{_ROOT}{{a:*}}:state"


def account_of(key: str) -> str:
    """Return the account that a key found by `accounts` is of."""
    return unquote(key.removeprefix(f"{_ROOT}{{a:").removesuffix("}:state"))


def states(tenant: str | None = None) -> str:
    """Return what SCAN finds the state of each session of a tenant by, or of all tenants."""
    return _of_sessions(tenant, "state")


def reviews(tenant: str | None = None) -> str:
    """Return what SCAN finds the review list of each session of a tenant by, or of all tenants."""
    return _of_sessions(tenant, "review")


def _of_sessions(tenant: str | None, rest: str) -> str:
    whose = "*" if tenant is None else f"{encoded(tenant)}:*"
    return f"{_ROOT}{{s:{whose}}}:{rest}"


def fleet(rest: str) -> str:
    """A key of the ready index, shared by all workers."""
    return f"{_ROOT}{{fleet}}:{rest}"
