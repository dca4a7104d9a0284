"""The account of a session: each check finds the fault of a wrong host, and nothing in a right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ebbtide.turn import Turn
from ebbtide_cli.replay.account import Account
from ebbtide_cli.replay.drive import steps
from ebbtide_cli.replay.ending import Ending
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.decide import Action
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import UnfittableRequest
from ebbtide_core.lineage.marks import mark
from ebbtide_core.policy import Policy, limits
from ebbtide_core.views.view import Omitted, Rung
from tests.cli.turns import Host, Json, record, swapped, talk, transcript, turn, user

WINDOW = 1_000
Prepare = Callable[[list[Message]], Turn]


def account(
    given: Transcript, prepare: Prepare, window: int = WINDOW, ending: Ending | None = None
) -> Figures:
    """Return the account of a host's whole session."""
    kept = Account(given, tokenizer(), limits(Policy(), window, 100))
    for step in steps(given, Host(prepare), max_tokens=100, pause=lambda: None):
        kept.take(step)
    return kept.figures(ending or Ending())


def test_a_host_that_changes_nothing_has_a_clean_account() -> None:
    """Turns, messages and peak are counted; nothing is wrong."""
    figures = account(transcript(talk(4)), lambda ms: turn(ms, projected=100 + len(ms)))
    assert (figures.turns, figures.messages, figures.peak_projected_tokens) == (4, 8, 107)
    assert len(figures.stalls) == 4
    assert figures.context_window == WINDOW
    wrong = (figures.swaps, figures.degraded_turns, figures.unfittable_turns, figures.requests_over_window)
    assert wrong == (0, 0, 0, 0)
    assert (figures.invalid_requests, figures.uncovered_messages, figures.declared_omitted_messages) == (
        0,
        0,
        0,
    )


def test_what_the_state_tells_is_taken_over() -> None:
    """Jobs, versions and refusals are not the host's to know."""
    ending = Ending(jobs_enqueued=3, versions_published=2, rejected={"timeout": 1})
    figures = account(transcript(talk(1)), turn, ending=ending)
    assert (figures.jobs_enqueued, figures.versions_published) == (3, 2)
    assert figures.rejected == {"timeout": 1}


def swap_at(turns: int, chunks: list[tuple[int, int]], gone: int, released: tuple[int, ...] = ()) -> Prepare:
    """A host that swaps `gone` messages out at its n-th turn, with a record of these chunks."""
    made = record(gone, chunks, released)
    count = iter(range(1, 100))

    def prepare(messages: list[Message]) -> Turn:
        if next(count) != turns:
            return turn(messages)
        kept, swap = swapped(messages, made, gone)
        return turn(kept, swap=swap)

    return prepare


@pytest.mark.parametrize(
    ("chunks", "released", "uncovered"),
    [
        ([(0, 4)], (), 0),
        ([(0, 2), (2, 4)], (), 0),
        ([(0, 3)], (), 1),
        ([(0, 3)], (3,), 0),
        ([], (), 4),
    ],
)
def test_what_a_swap_takes_must_lie_in_its_chunks(
    chunks: list[tuple[int, int]], released: tuple[int, ...], uncovered: int
) -> None:
    """Each message that is gone and in no chunk counts once, however many turns follow."""
    figures = account(transcript(talk(6)), swap_at(3, chunks, 4, released))
    assert figures.swaps == 1
    assert figures.uncovered_messages == uncovered


def test_a_message_lost_without_a_swap_is_uncovered() -> None:
    """A buffer that shrinks by itself loses what it held."""
    figures = account(transcript(talk(4)), lambda ms: turn(ms[1:] if len(ms) == 5 else ms))
    assert figures.uncovered_messages == 1


@pytest.mark.parametrize(
    "outside", [{"role": "system", "content": "rules"}, mark(user("secret"), ephemeral=True)]
)
def test_what_stands_outside_the_lineage_shifts_no_index_and_may_not_go(outside: Json) -> None:
    """Chunks count lineage messages only; a system or ephemeral message is in none, so it may not vanish."""
    given = transcript((outside, *talk(5)), fmt="openai")

    def keep(messages: list[Message]) -> Turn:
        if len(messages) != 6:
            return turn(messages)
        kept, swap = swapped(messages[1:], record(4, [(0, 4)]), 4)
        return turn([messages[0], *kept], swap=swap)

    assert account(given, keep).uncovered_messages == 0
    assert account(given, swap_at(3, [(0, 4)], 5)).uncovered_messages == 1


def test_an_equal_copy_is_not_lost() -> None:
    """A message counts as kept by what it says, not by which object it is."""
    figures = account(transcript(talk(3)), lambda ms: turn([dict(m) for m in ms]))
    assert figures.uncovered_messages == 0


def test_a_broken_provider_rule_counts_once_a_turn() -> None:
    """A view that breaks a rule which the raw history keeps is an invalid request."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]}
    result = user("")
    result["content"] = [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]
    given = transcript((user("go"), call, result, *talk(1)[1:]))

    def without_call(messages: list[Message]) -> Turn:
        return turn(messages, sent=[m for m in messages if m is not call])

    assert account(given, without_call).invalid_requests == 1
    assert account(given, turn).invalid_requests == 0


def test_a_rule_that_the_raw_history_breaks_is_not_held_against_the_view() -> None:
    """A recorded orphan stays one."""
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "9", "content": "ok"}]}
    given = transcript((user("go"), talk(1)[1], orphan, talk(1)[1]))
    assert account(given, lambda ms: turn(ms, sent=[dict(m) for m in ms])).invalid_requests == 0


def test_degraded_turns_and_what_they_leave_out_are_counted() -> None:
    """Omissions are summed over turns as the reports declare them."""
    gap = Omitted(0, 2, 2, "d")

    def degrade(messages: list[Message]) -> Turn:
        return turn(messages, sent=messages[-1:], degraded=True, rung=Rung.TRUNCATED, omitted=(gap, gap))

    figures = account(transcript(talk(3)), degrade)
    assert (figures.degraded_turns, figures.declared_omitted_messages) == (3, 12)


def test_unfittable_turns_are_counted() -> None:
    """The turn that the error carries is accounted for, and marked."""

    def refuse(messages: list[Message]) -> Turn:
        raise UnfittableRequest(projected=9, limit=5, smallest=7, turn=turn(messages, projected=5_000))

    figures = account(transcript(talk(2)), refuse)
    assert (figures.unfittable_turns, figures.peak_projected_tokens) == (2, 5_000)


@pytest.mark.parametrize(("window", "over"), [(100_000, 0), (600, 3)])
def test_requests_over_the_window_are_counted(window: int, over: int) -> None:
    """The view that is sent counts, with system, tools and output."""
    long: Any = transcript(talk(3), system="word " * 400, tools=[{"name": "t" * 200}])
    assert account(long, turn, window=window).requests_over_window == over


def test_swaps_that_follow_each_other_or_summarise_little_are_counted() -> None:
    """Two on neighbouring turns are one in a row; with 100 tokens worth a job, a record of 10 is small."""
    made = record(2, [(0, 2)])
    large = made.model_copy(update={"source_tokens": 100})
    swaps = iter([None, made, large, None, large, None])

    def prepare(messages: list[Message]) -> Turn:
        chosen = next(swaps)
        if chosen is None:
            return turn(messages, action=Action.PRUNE)
        kept, swap = swapped(messages, chosen, 2)
        return turn(kept, swap=swap)

    figures = account(transcript(talk(6)), prepare)
    assert (figures.swaps, figures.swaps_in_a_row, figures.small_swaps) == (3, 1, 1)
    assert figures.pruned_turns == 3
