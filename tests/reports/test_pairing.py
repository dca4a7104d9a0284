"""Calls and results that were torn apart, taken for orphans, invented or written twice."""

from __future__ import annotations

import pytest

from ebbtide import Action, Reason
from ebbtide_core.lineage.buffer import read
from ebbtide_core.lineage.issues import IssueKind
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    marked,
    result,
    system,
    text,
    user,
)
from tests.host.conftest import MakeHost
from tests.laws.lives import UID
from tests.reports.compactions import Sent, swaps, views


def test_a_cut_between_call_and_result_kills_the_session() -> None:
    """The result stood without its call, and every later request was refused."""
    messages = [
        user("fix it"),
        assistant(text("look"), call("t1")),
        user(result("t1")),
        assistant("done"),
        user("thanks"),
    ]
    assert [s.faults for s in [*swaps(messages), *views(messages)] if s.faults] == []
    kept = {tuple(m[UID] for m in s.rest) for s in swaps(messages) if len(s.before) == 5}
    assert kept == {(4,), (3, 4), (1, 2, 3, 4)}


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_cut_inside_a_parallel_batch_splits_it(count: int) -> None:
    """A guard that steps back by one message leaves all results but the first where they are."""
    names = [f"c{n}" for n in range(count)]
    messages = [user("go"), asks(*names), *map(answers, names), assistant("ok"), user("next")]
    assert [s.faults for s in [*swaps(messages, "openai"), *views(messages, "openai")] if s.faults] == []
    whole = [s for s in swaps(messages, "openai") if len(s.before) == len(messages)]
    assert {len(s.results) for s in whole} == {0, count}


def test_a_compaction_in_mid_turn_writes_a_result_twice() -> None:
    """With parallel calls in flight, the result just added was appended once more and the request refused."""
    messages = [
        user("hi"),
        assistant("ho"),
        user("go"),
        assistant(call("a"), call("b")),
        user(result("a")),
        user(result("b")),
    ]
    found = [*swaps(messages), *views(messages)]
    assert [s.faults for s in found if s.faults] == []
    assert all(len(s.results) == len(set(s.results)) for s in found)
    assert any(s.results == ["a", "b"] for s in swaps(messages))


@pytest.mark.parametrize("second", ["ok", "something else"])
def test_a_result_that_the_host_itself_repeats_is_told_and_not_repaired(second: str) -> None:
    """Which of two results holds is the host's to say: one that was dropped silently was the right one. Both
    stay, the later one is named, and no compaction makes a third or tears them apart."""
    messages = [
        user("hi"),
        assistant("ho"),
        user("go"),
        assistant(call("a"), call("b")),
        user(result("a")),
        user(result("b")),
        user(result("b", second)),
    ]
    assert [(i.kind, i.index) for i in read(messages, ANTHROPIC).issues] == [(IssueKind.DUPLICATE_RESULT, 6)]
    found = [*swaps(messages), *views(messages)]
    assert [s.faults for s in found if s.faults] == []
    assert {s.results.count("b") for s in found if len(s.before) == 7} == {2}


def test_results_matched_by_place_are_taken_for_orphans() -> None:
    """Of two calls and then two results, each a message, the real results were overwritten by "unavailable".
    They pair by id; the shape, which this provider refuses, is told and not altered."""
    messages = [
        user("go"),
        asks("a"),
        asks("b"),
        answers("a", "real A"),
        answers("b", "real B"),
        user("and?"),
    ]
    issues = read(messages, OPENAI).issues
    assert [(i.kind, i.index) for i in issues] == [(IssueKind.CALL_WITHOUT_RESULT, 1)]
    assert [(v.rule, v.index) for v in OPENAI.violations(messages)] == [("call-without-result", 1)]
    found = list(swaps(messages, "openai"))
    assert [s.faults for s in found if s.faults] == []
    assert {tuple(s.results) for s in found if len(s.before) == 6} == {(), ("a", "b")}


def _remark(pinned: bool) -> list[Sent]:
    held = user(result("t1"), text("and remember: port 8443"))
    messages = [
        user("start"),
        assistant(call("t1")),
        marked(held, pinned=True) if pinned else held,
        assistant("noted"),
        user("continue"),
    ]
    return [s for s in swaps(messages) if len(s.before) > 2]


def test_words_beside_a_result_are_lost_with_it() -> None:
    """A message with a result counted as the tool's, whatever the user said in it."""
    found = _remark(pinned=False)
    assert [s.faults for s in found if s.faults] == []
    assert all("port 8443" in (s.summary if not s.results else str(s.rest)) for s in found)
    assert {bool(s.results) for s in found} == {False, True}


def test_words_that_are_kept_keep_a_result_without_its_call() -> None:
    """What a user said was never summarised, so the result beside it stayed when its call went."""
    found = _remark(pinned=True)
    assert {(tuple(s.calls), tuple(s.results)) for s in found} == {(("t1",), ("t1",))}
    assert [s.faults for s in found if s.faults] == []


def test_a_history_shorter_than_what_is_kept_loses_all_but_its_last_result(make_host: MakeHost) -> None:
    """A fallback for "nothing can go" kept the last message only, a result without its call. There is nothing
    to compact: the messages come back as they are, and the report says so."""
    messages = [user("go"), assistant(call("t1")), user(result("t1", "short"))]
    turn = make_host(window=200_000, model="claude-test").prepare(messages)
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.BELOW_SOFT)
    assert all(a is b for a, b in zip(turn.messages, messages, strict=True))
    found = [*swaps(messages), *views(messages)]
    assert [s.faults for s in found if s.faults] == []


def test_a_made_up_result_outlives_the_call_that_it_was_made_for() -> None:
    """An interrupted call had got a result of the host's making, which stayed when the call went. It goes
    with its call like any other, and what the user said beside it survives."""
    messages = [
        user("go"),
        assistant(call("t1")),
        user(result("t1", "[interrupted]", is_error=True), text("stop, do it otherwise")),
        assistant("ok"),
        user("go"),
    ]
    found = [s for s in swaps(messages) if len(s.before) > 2]
    assert [s.faults for s in found if s.faults] == []
    assert all("stop, do it otherwise" in (s.summary if not s.results else str(s.rest)) for s in found)
    assert {bool(s.results) for s in found} == {False, True}


def test_the_kept_part_begins_with_a_tool_message() -> None:
    """A tail of so many tokens was cut where it pleased. Behind system and summary comes a user's message,
    an answer or a call with all its results."""
    messages = [
        system("sys"),
        user("q"),
        asks("a"),
        answers("a"),
        assistant("x"),
        user("q2"),
    ]
    found = [*swaps(messages, "openai"), *views(messages, "openai")]
    assert [s.faults for s in found if s.faults] == []
    firsts = {next(m[UID] for m in s.rest if m["role"] != "system") for s in found}
    assert firsts == {2, 4, 5}
