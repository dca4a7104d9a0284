"""Reading a declaration of tenants, and what applying it changes: pure, on texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.tenant.document import Declaration, DeclarationError, Problem, read
from ebbtide_cli.tenant.plan import Change, Kind, Stored, changes
from ebbtide_core.contract.tenant import MAX_HOPS, Hop, TenantPolicy
from ebbtide_core.economy.rates import Rates
from ebbtide_core.policy import Mode

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tenants.toml"
SECRET = "sk-ant-api03-hidden"


def problems(text: str) -> dict[str, str]:
    """What is wrong with a text, by place."""
    with pytest.raises(DeclarationError) as told:
        read(text.encode())
    assert all(str(problem) in str(told.value) for problem in told.value.problems)
    return {problem.place: problem.what for problem in told.value.problems}


def test_the_example_is_read() -> None:
    """A tenant has the default's fields, with its own over them, and its routes are inlined."""
    declared = read(EXAMPLE.read_bytes())
    fast = Hop(summariser="anthropic", model="claude-haiku-5-5", credentials="env:ANTHROPIC_API_KEY")
    large = fast.model_copy(update={"model": "claude-sonnet-5-5", "window": 1_000_000})
    assert declared.default == TenantPolicy(route=(fast,), concurrency=8, max_pending=200)
    assert declared.tenants["acme"] == TenantPolicy(
        route=(fast, large),
        concurrency=8,
        max_pending=200,
        weight=2,
        spend_a_day=20.0,
        breaker_cooldown_seconds=600,
    )
    trial = declared.tenants["trial accounts"]
    assert (trial.mode, trial.concurrency, trial.route) == (Mode.SHADOW, 1, (fast,))


def test_an_empty_file_declares_nothing() -> None:
    """Neither tenants nor a default."""
    assert read(b"") == Declaration()


def test_without_a_default_a_tenant_has_what_it_says() -> None:
    """Its order in the file does not matter either."""
    declared = read(b'[tenants.a]\nweight = 3\nroute = ["x"]\n[routes.x]\nmodel = "m"\n')
    assert declared.default is None
    assert declared.tenants == {"a": TenantPolicy(weight=3, route=(Hop(model="m"),))}


def test_a_tenant_may_take_a_route_of_the_default_back() -> None:
    """An empty one is the worker's own summariser."""
    declared = read(b'[routes.x]\n[default]\nroute = ["x"]\n[tenants.a]\nroute = []\n')
    assert declared.default is not None
    assert (declared.default.route, declared.tenants["a"].route) == ((Hop(),), ())


def test_prices_are_read() -> None:
    """With those of long prompts."""
    text = """
        [routes.x.rates]
        input = 1
        output = 5
        cache_write = 1.25
        cache_read = 0.1
        above = 100_000
        long = {input = 2, output = 10, cache_write = 2.5, cache_read = 0.2}
        [default]
        route = ["x"]
    """
    declared = read(text.encode())
    assert declared.default is not None
    rates = Rates(1, 5, 1.25, 0.1, above=100_000, long=Rates(2, 10, 2.5, 0.2))
    assert declared.default.route[0].rates == rates


def test_all_that_is_wrong_is_told_at_once_with_its_place() -> None:
    """Whatever section it stands in, and whatever else is wrong."""
    found = problems(
        """
        [tenant.acme]
        [routes.fast]
        modle = "m"
        window = 0
        [routes.fast.rates]
        input = 1
        inptu = 1
        output = -1
        cache_write = 1
        cache_read = 1
        [default]
        rout = ["fast"]
        concurrency = "8"
        route = ["fsat", 3]
        [tenants.acme]
        weight = 0
        max_pending = 1.5
        spend_a_day = inf
        mode = "shadwo"
        breaker_failures = 2026-01-01
        [tenants.umbrella]
        route = "fast"
        [tenants]
        plain = 1
        """
    )
    assert set(found) == {
        "tenant",
        "routes.fast.modle",
        "routes.fast.window",
        "routes.fast.rates.inptu",
        "routes.fast.rates",
        "default.rout",
        "default.concurrency",
        "default.route[0]",
        "default.route[1]",
        "tenants.acme.weight",
        "tenants.acme.max_pending",
        "tenants.acme.spend_a_day",
        "tenants.acme.mode",
        "tenants.acme.breaker_failures",
        "tenants.umbrella.route",
        "tenants.plain",
    }
    nearest = {
        "tenant": "tenants",
        "routes.fast.modle": "model",
        "routes.fast.rates.inptu": "input",
        "default.rout": "route",
        "default.route[0]": "fast",
    }
    for place, word in nearest.items():
        assert found[place].endswith(f"did you mean {word}?")


def test_a_key_that_is_like_none_is_told_with_those_that_there_are() -> None:
    """So is a route, where there are any."""
    found = problems('[tenants.a]\nzzz = 1\nroute = ["zzz"]\n[routes.fast]\n')
    assert "breaker_cooldown" in found["tenants.a.zzz"]
    assert found["tenants.a.route[0]"].endswith("there are: fast")


@pytest.mark.parametrize(
    "pasted",
    [
        SECRET,
        f"env:{SECRET}",
        f"{SECRET} ",
        f"file:{SECRET}",
        f"call: {SECRET}",
        f"ENV:{SECRET}",
        "env:",
        "file:",
    ],
)
def test_a_secret_in_place_of_a_reference_is_refused_and_not_repeated(pasted: str) -> None:
    """Nor is anything else told of it."""
    found = problems(f"[routes.x]\ncredentials = {json.dumps(pasted)}\n")
    assert set(found) == {"routes.x.credentials"}
    assert "env:NAME, file:/path or call:name" in found["routes.x.credentials"]
    assert "hidden" not in str(found)


@pytest.mark.parametrize("reference", ["env:A_KEY_2", "file:/run/secrets/a key", "call:vault/acme-1", ""])
def test_references_are_taken(reference: str) -> None:
    """And nothing is asked for where they lead."""
    declared = read(f'[routes.x]\ncredentials = {json.dumps(reference)}\n[default]\nroute = ["x"]'.encode())
    assert declared.default is not None
    assert declared.default.route[0].credentials == reference


@pytest.mark.parametrize("url", ["https://me:{}@example.com", "https://example.com/v1?Api-Key={}"])
def test_a_secret_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    """Like any other secret."""
    found = problems(f'[routes.x]\nbase_url = "{url.format(SECRET)}"\n')
    assert set(found) == {"routes.x.base_url"}
    assert "hidden" not in str(found)


def test_a_secret_under_any_key_is_not_repeated() -> None:
    """Also where there is no such key, or the value is of a wrong type."""
    found = problems(f'[routes.x]\napi_key = "{SECRET}"\nwindow = "{SECRET}"\nmodel = ["{SECRET}"]\n')
    assert len(found) == 3
    assert "hidden" not in str(found)


@pytest.mark.parametrize(
    ("name", "what"), [("a\\u0007b", "control character"), ("", "0 bytes"), ("x" * 300, "300 bytes")]
)
def test_names_that_can_be_none_are_told(name: str, what: str) -> None:
    """With the place as TOML spells it, so that nothing in it is obeyed by a terminal."""
    found = problems(f'[tenants."{name}"]\nweight = 2\n')
    assert len(found) == 1
    assert what in next(iter(found.values()))
    assert "\x07" not in str(found)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"a = " + b"[" * 5_000, "not TOML"),
        (b"a = " + b"9" * 5_000, "not TOML"),
        (b"[a", "not TOML"),
        (b"[a]\n[a]", "not TOML"),
        (b"x = \xff", "not UTF-8"),
        (b"routes = 1", "a table"),
    ],
)
def test_what_is_no_such_file_is_told(data: bytes, what: str) -> None:
    """In words, not as a traceback."""
    with pytest.raises(DeclarationError, match=what):
        read(data)


def test_a_route_is_not_longer_than_may_be() -> None:
    """More hops than a policy may have are told at the route."""
    names = json.dumps(["x"] * (MAX_HOPS + 1))
    assert set(problems(f"[routes.x]\n[default]\nroute = {names}\n")) == {"default.route"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def toml(value: Any) -> str:
    """A value as TOML; what it has no word for is left out."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items() if v is not None) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(toml(each) for each in value if each is not None) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


@given(
    st.sampled_from(["routes", "default", "tenants"]), st.dictionaries(st.text(max_size=8), JSON, max_size=4)
)
def test_whatever_stands_in_a_file_is_read_or_told(section: str, table: dict[str, Any]) -> None:
    """Nothing else is raised, and what is told names its section."""
    text = f"{section} = {toml(table)}".encode(errors="replace")
    told: tuple[Problem, ...] = ()
    try:
        read(text)
    except DeclarationError as error:
        told = error.problems
    assert all(problem.place.startswith(section) or not problem.place for problem in told)


A, B = TenantPolicy(weight=1, max_pending=5), TenantPolicy(weight=2, max_pending=5)


def test_each_policy_is_added_changed_removed_or_the_same() -> None:
    """The default first, then by name; with the fields that differ."""
    declared = Declaration(B, {"new": A, "moved": B, "kept": A})
    stored = Stored(None, {"gone": A, "moved": A, "kept": A, "new": None})
    found = changes(declared, stored, prune=True)
    assert [(each.tenant, each.kind) for each in found] == [
        (None, Kind.ADDED),
        ("gone", Kind.REMOVED),
        ("kept", Kind.SAME),
        ("moved", Kind.CHANGED),
        ("new", Kind.ADDED),
    ]
    assert found[3].fields() == {"weight": (1, 2)}
    assert found[4].fields() == {"max_pending": (None, 5)}


def test_without_pruning_what_is_not_declared_stays() -> None:
    """Other tenants as well as the default."""
    stored = Stored(A, {"other": A})
    assert changes(Declaration(None, {"new": B}), stored, prune=False) == (Change("new", None, B),)
    removed = changes(Declaration(), stored, prune=True)
    assert [(each.tenant, each.kind) for each in removed] == [(None, Kind.REMOVED), ("other", Kind.REMOVED)]
