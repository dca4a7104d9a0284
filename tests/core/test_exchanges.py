"""Exchanges: which messages stay together, and which of them are still open."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core.dialects.base import Dialect
from ebbtide_core.lineage.exchanges import exchanges
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    marked,
    reading,
    result,
    system,
    text,
    user,
)

Runs = list[tuple[int, int]]


def runs(messages: list[Any], dialect: Dialect = ANTHROPIC) -> Runs:
    """The exchanges as start and stop."""
    return [(run.start, run.stop) for run in exchanges(reading(messages, dialect).entries)]


def open_runs(messages: list[Any], dialect: Dialect = ANTHROPIC) -> Runs:
    """The exchanges with a call that waits."""
    return [(run.start, run.stop) for run in exchanges(reading(messages, dialect).entries) if run.open]


SPLIT = [
    user("fix it"),
    assistant(text("look"), call("t1")),
    user(result("t1")),
    assistant("done"),
    user("thanks"),
]
BATCH = [
    user("go"),
    asks("a", "b", "c"),
    answers("a"),
    answers("b"),
    answers("c"),
    {"role": "assistant", "content": "ok"},
]
TWICE = [user("go"), assistant(call("a"), call("b")), user(result("a")), user(result("b")), user(result("b"))]
BY_ID = [user("go"), asks("a"), asks("b"), answers("a", "A"), answers("b", "B"), user("and?")]
REMARK = [user("start"), assistant(call("t1")), user(result("t1"), text("port 8443")), assistant("noted")]
SHORT = [user("go"), assistant(call("t1")), user(result("t1", "short"))]
INTERRUPTED = [
    user("go"),
    assistant(call("t1")),
    user(result("t1", "[interrupted]", is_error=True), text("stop")),
    assistant("ok"),
]


@pytest.mark.parametrize(
    ("messages", "dialect", "expected"),
    [
        ([], ANTHROPIC, []),
        ([user("a"), assistant("b")], ANTHROPIC, [(0, 1), (1, 2)]),
        (SPLIT, ANTHROPIC, [(0, 1), (1, 3), (3, 4), (4, 5)]),
        (BATCH, OPENAI, [(0, 1), (1, 5), (5, 6)]),
        (TWICE, ANTHROPIC, [(0, 1), (1, 5)]),
        (BY_ID, OPENAI, [(0, 1), (1, 5), (5, 6)]),
        (REMARK, ANTHROPIC, [(0, 1), (1, 3), (3, 4)]),
        (SHORT, ANTHROPIC, [(0, 1), (1, 3)]),
        (INTERRUPTED, ANTHROPIC, [(0, 1), (1, 3), (3, 4)]),
        ([user(result("t9")), user("a")], ANTHROPIC, [(0, 1), (1, 2)]),
        ([assistant(call("t1")), user("no"), assistant("ok")], ANTHROPIC, [(0, 1), (1, 2), (2, 3)]),
        ([assistant(call("t1")), user("hm"), user(result("t1"))], ANTHROPIC, [(0, 3)]),
        ([system("s"), asks("a"), system("d"), answers("a"), system("e")], OPENAI, [(1, 4)]),
        ([assistant(call("a")), marked(user(result("a")), ephemeral=True)], ANTHROPIC, [(0, 2)]),
    ],
)
def test_calls_stay_with_their_results(messages: list[Any], dialect: Dialect, expected: Runs) -> None:
    """By id, whatever stands between; system messages belong to no exchange by themselves."""
    assert runs(messages, dialect) == expected


def test_ids_that_come_again_pair_with_the_nearest_call() -> None:
    """One id map over the whole history would make one exchange of all rounds."""
    messages = [m for _ in range(3) for m in (assistant(call("t1")), user(result("t1")))]
    assert runs(messages) == [(0, 2), (2, 4), (4, 6)]


def test_a_call_left_behind_does_not_take_a_later_call_s_result() -> None:
    """The same id, answered the second time only."""
    messages = [assistant(call("t1")), user("no, again"), assistant(call("t1")), user(result("t1"))]
    assert runs(messages) == [(0, 1), (1, 2), (2, 4)]
    assert open_runs(messages) == []


@pytest.mark.parametrize(
    ("messages", "dialect", "expected"),
    [
        ([user("go"), assistant(call("a"))], ANTHROPIC, [(1, 2)]),
        ([user("go"), assistant(call("a"), call("b")), user(result("a"))], ANTHROPIC, [(1, 3)]),
        ([user("go"), assistant(call("a"), call("b")), user(result("a"), text("stop"))], ANTHROPIC, []),
        ([user("go"), assistant(call("a")), user("never mind")], ANTHROPIC, []),
        ([user("go"), assistant(call("a")), assistant("hm")], ANTHROPIC, []),
        ([user("go"), asks("a", "b"), answers("b")], OPENAI, [(1, 3)]),
        ([user("go"), asks("a"), asks("b")], OPENAI, [(1, 2), (2, 3)]),
        ([user("go"), asks("a"), asks("b"), answers("b")], OPENAI, [(1, 2)]),
        ([user("go"), asks("a"), asks("b"), answers("b"), asks("c")], OPENAI, [(4, 5)]),
        ([user("go"), assistant(call("a")), system("s")], ANTHROPIC, [(1, 2)]),
        ([user("go"), assistant(call("a")), marked(user("date"), ephemeral=True)], ANTHROPIC, [(1, 2)]),
        (SHORT, ANTHROPIC, []),
    ],
)
def test_a_call_is_open_while_only_results_follow(
    messages: list[Any], dialect: Dialect, expected: Runs
) -> None:
    """Parallel calls may be messages in a row; once somebody speaks, what was not answered is abandoned."""
    assert open_runs(messages, dialect) == expected
