"""The ways to compact that `ebbtide cost` compares, on sessions whose cost is worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.cost.ahead import Ahead, at_once
from ebbtide_cli.cost.blocking import NewestTen, Reactive
from ebbtide_cli.cost.counted import Counted, Held
from ebbtide_cli.cost.notes import ExtractiveNotes, FixedNotes
from ebbtide_cli.cost.play import Outcome, Prices, played
from ebbtide_cli.cost.strategy import Ground, Never, Strategy
from ebbtide_cli.cost.ways import Plan, Way
from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.economy.bill import Part
from ebbtide_core.economy.rates import Rates
from ebbtide_core.economy.timing import Chance
from ebbtide_core.policy import Policy
from tests.core.say import ANTHROPIC, assistant, user

FIXED = 500
SUMMARY = 300
HOST = Rates(input=2.0, output=10.0, cache_write=2.5, cache_read=0.1)
PRICES = Prices(HOST, Rates(input=0.1, output=0.5, cache_write=0.125, cache_read=0.01))
POLICY = Policy(
    max_tokens=1_000,
    keep_recent_tokens=3_000,
    keep_recent_messages=1,
    min_new_tokens=1_000,
    min_turns_between_swaps=0,
    summary_max_tokens=400,
)


def talk(sizes: Sequence[int]) -> Counted:
    """A session in which user and assistant take turns, with messages of these sizes."""
    messages = [(user, assistant)[n % 2](f"message {n}") for n in range(len(sizes))]
    held = [Held(m, Part(n, size)) for n, (m, size) in enumerate(zip(messages, sizes, strict=True))]
    answers = (i for i, one in enumerate(held) if one.message["role"] == "assistant")
    return Counted("talk", ANTHROPIC, FIXED, held, frozenset(answers))


def evenly(turns: int) -> Counted:
    """A session of so many turns with messages of 1,000 tokens."""
    return talk([1_000] * (2 * turns))


def ground(session: Counted, window: int) -> Ground:
    """The ground of a session with summaries of 300 tokens."""
    return Ground.under(session, window, FixedNotes(SUMMARY))


def later(chance: Chance) -> bool:
    """Never before hard."""
    return False


def play(session: Counted, strategy: Strategy) -> Outcome:
    """The outcome with the strategy's own window."""
    return played(session, strategy, strategy.ground.window, PRICES)


def test_never_compacting_by_hand() -> None:
    """1,500 tokens, then 2,000 more at each turn: written once, read ever after."""
    session = evenly(3)
    found = play(session, Never(ground(session, 4_000)))
    assert (found.cached.written, found.cached.read, found.cached.output) == (5_500, 1_500 + 3_500, 3_000)
    assert found.cached.dollars == pytest.approx((5_500 * 2.5 + 5_000 * 0.1 + 3_000 * 10) / 1e6)
    assert found.uncached.input == 1_500 + 3_500 + 5_500
    assert found.uncached.dollars == pytest.approx((10_500 * 2 + 3_000 * 10) / 1e6)
    assert (found.turns, found.over, found.compactions, found.summariser.dollars) == (3, 1, 0, 0)


def test_reactive_by_hand() -> None:
    """At 9,500 of 10,000 the newest 5,000 tokens stay; 4,000 are summarised while the turn waits."""
    session = evenly(5)
    found = play(session, Reactive(ground(session, 10_000)))
    assert (found.compactions, found.waits, found.over) == (1, 1, 0)
    assert (found.summariser.input, found.summariser.output) == (4_000, SUMMARY)
    assert found.summariser.dollars == pytest.approx((4_000 * 0.1 + 300 * 0.5) / 1e6)
    assert found.cached.written == 7_500 + SUMMARY + 5_000
    assert found.cached.read == 1_500 + 3_500 + 5_500 + FIXED


def test_reactive_summarises_its_last_summary_again_but_nothing_else_twice() -> None:
    """The second compaction is given the first one's summary and what is new before the tail."""
    session = evenly(8)
    found = play(session, Reactive(ground(session, 10_000)))
    assert found.compactions == 2
    assert found.summariser.input == 4_000 + SUMMARY + 4_000


def test_a_tail_counted_in_messages_thrashes() -> None:
    """Its tail of ten messages is over its own watermark, so it compacts at every turn from the first on."""
    session = evenly(9)
    found = play(session, NewestTen(ground(session, 20_000)))
    assert (found.compactions, found.waits) == (4, 4)
    assert found.summariser.input == 1_000 + 3 * (SUMMARY + 2_000)


def test_a_record_is_asked_for_at_soft_and_swapped_a_turn_later() -> None:
    """At 14,500 of 20,000 a job takes 10,000 tokens; a turn later five messages stand behind the summary."""
    session = evenly(8)
    found = play(session, Ahead(ground(session, 20_000), POLICY, at_once))
    assert (found.compactions, found.waits, found.over) == (1, 0, 0)
    assert (found.summariser.input, found.summariser.output) == (10_000, SUMMARY)
    assert found.cached.written == 13_500 + SUMMARY + 5_000
    assert found.uncached.input == sum(FIXED + 1_000 * n for n in range(1, 14, 2)) + FIXED + SUMMARY + 5_000


def test_a_slow_job_brings_its_record_so_many_turns_later() -> None:
    """Asked for at the seventh turn it is there at the tenth: nine messages stand behind the summary."""
    session = evenly(10)
    found = play(session, Ahead(ground(session, 20_000), POLICY, at_once, job_turns=3))
    assert (found.compactions, found.waits, found.summariser.input) == (1, 0, 10_000)
    assert found.cached.written == 17_500 + SUMMARY + 9_000


def test_a_jump_past_hard_waits_for_its_record() -> None:
    """One message takes the request from below soft to above hard: the turn waits, and is then small."""
    session = talk([1_000] * 10 + [9_000, 1_000])
    strategy = Ahead(ground(session, 20_000), POLICY, at_once)
    found = play(session, strategy)
    assert (found.compactions, found.waits, found.over) == (1, 1, 0)
    assert strategy.ground.effort.calls[0].prompt[0].tokens == 10_000


def test_a_record_that_waits_is_made_anew_and_swapped_at_hard_without_waiting() -> None:
    """While it is not due the session grows: a farther record is asked for each 1,000 tokens and more."""
    session = evenly(12)
    strategy = Ahead(ground(session, 20_000), POLICY, later)
    found = play(session, strategy)
    assert (found.compactions, found.waits, found.over) == (1, 0, 0)
    sources = [call.prompt[0].tokens for call in strategy.ground.effort.calls]
    assert len(sources) > 1
    assert sources == sorted(sources)


def test_swaps_keep_their_distance_below_hard() -> None:
    """With a distance of many turns the second swap comes at hard only."""
    session = evenly(14)
    near = play(session, Ahead(ground(session, 20_000), POLICY, at_once))
    far = POLICY.model_copy(update={"min_turns_between_swaps": 50})
    assert play(session, Ahead(ground(session, 20_000), far, at_once)).compactions < near.compactions


def test_a_plan_plays_every_way_at_every_window() -> None:
    """Each pair of window and way has its outcome, with the same turns and the same answers."""
    session = evenly(12)
    found = Plan((16_000, 20_000), PRICES, POLICY).outcomes(session, lambda message: 0)
    assert set(found) == {(window, way) for window in (16_000, 20_000) for way in Way}
    assert {(one.turns, one.cached.output) for one in found.values()} == {(12, 12_000)}
    assert found[16_000, Way.IMMEDIATE].compactions > 0


def test_extractive_summaries_cost_what_they_hold() -> None:
    """They are counted, and stay within their budget."""

    def count(message: PlainMessage) -> int:
        return len(str(message["content"])) // 4

    session = evenly(8)
    note = ExtractiveNotes(ANTHROPIC, count).write(session.messages, None, 400)
    assert 0 < note.tokens <= 400
    strategy = Ahead(Ground.under(session, 20_000, ExtractiveNotes(ANTHROPIC, count)), POLICY, at_once)
    assert 0 < play(session, strategy).summariser.output <= 400


@given(st.lists(st.integers(1, 6_000), min_size=2, max_size=40), st.sampled_from([8_000, 16_000]))
def test_what_holds_under_every_way(sizes: list[int], window: int) -> None:
    """The newest message is always sent, every prompt token is billed once, and no way changes a turn."""
    session = talk(sizes)
    plan = Plan((window,), PRICES, POLICY)
    for found in plan.outcomes(session, lambda message: 0).values():
        assert found.turns == len(sizes) // 2
        assert found.cached.output == sum(sizes[1::2])
        assert found.cached.read + found.cached.written == found.uncached.input
        assert found.uncached.input >= sum(sizes[: 2 * found.turns : 2])
        assert found.waits <= found.turns
