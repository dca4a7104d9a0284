"""Scripts as text and calls as values."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ebbtide_core.errors import ContractError
from ebbtide_core.names import Owner, fleet, memo
from ebbtide_core.store.script import Call, Scripts, hash_tag, ms, script_names


def test_every_script_is_documented() -> None:
    """Each script opens with what it does, its keys and its reply."""
    for name in script_names():
        body = Scripts(clock="")[name].text
        assert "-- KEYS" in body, name
        assert "-- Reply" in body, name


def test_a_script_is_known_by_its_text() -> None:
    """The hash by which the server knows a script is that of the text it was sent."""
    script = Scripts()["turn"]
    assert script.sha == hashlib.sha1(script.text.encode()).hexdigest()


def test_the_clock_can_be_replaced() -> None:
    """Another clock makes other scripts, so that both can live on one server."""
    other = Scripts(clock="local function now_ms() return 42 end")
    assert other["turn"].text.startswith("local function now_ms() return 42 end\n")
    assert "redis.call('TIME')" not in other["turn"].text
    assert other["turn"].sha != Scripts()["turn"].sha


def test_libraries_are_composed_once_and_before_the_body() -> None:
    """A script carries the libraries that it names, in their order, and no others."""
    text = Scripts()["queued"].text
    order = [
        text.index(part) for part in ("function load_state", "function breaker_turn", "function claim_is")
    ]
    assert order == sorted(order)
    assert text.count("function load_state") == 1
    assert "function pull_older" not in text


def test_no_script_reads_another_clock() -> None:
    """Time comes from `now_ms` alone."""
    assert all("'TIME'" not in Scripts(clock="")[name].text for name in script_names())


def test_an_unknown_script_is_an_error() -> None:
    """A name without a file is the caller's mistake."""
    with pytest.raises(FileNotFoundError):
        Scripts()["no_such_script"]


def test_a_call_touches_one_owner() -> None:
    """Keys of two owners in one call are the caller's mistake."""
    a, b = Owner.of("t", "a"), Owner.of("t", "b")
    Call("get", (a.state, a.record(1)), (), bool)
    with pytest.raises(ValueError, match="keys of several owners"):
        Call("get", (a.state, b.state), (), bool)
    with pytest.raises(ValueError, match="keys of several owners"):
        Call("get", (memo("t", "d"), fleet("ready")), (), bool)


def test_a_key_without_tag_is_an_error() -> None:
    """Every key says whose it is."""
    with pytest.raises(ValueError, match="without a hash tag"):
        hash_tag("plain")


@pytest.mark.parametrize("reply", [b"not a number", None, [b"x"]])
def test_a_reply_that_cannot_be_read_is_a_contract_error(reply: Any) -> None:
    """What a script can't have answered points to damaged state or another version."""
    with pytest.raises(ContractError, match="get: a reply"):
        Call("get", (), (), int).result(reply)


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(1.5, 1500), (0.0004, 1), (0.0016, 2), (604_800, 604_800_000)]
)
def test_durations_are_whole_milliseconds(seconds: float, milliseconds: int) -> None:
    """No duration becomes zero, which would delete the key."""
    assert ms(seconds) == milliseconds
