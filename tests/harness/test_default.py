"""The default compactor: tail, no-ops, the call for a summary, the checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ebbtide.harness import (
    CompactionError,
    ContextOverflowError,
    DefaultCompactor,
    DefaultCompactorConfig,
    is_summary_item,
    render_summary_item,
)
from tests.harness.talk import (
    Response,
    ScriptedModel,
    answered,
    assistant,
    calls,
    request,
    result,
    text,
    user,
)

OLD = render_summary_item(bridge="Go on.", summary_text=text(200, "old notes"))
FIVE = [user(400), assistant(401), user(402), assistant(10), user(11)]


def compactor(tokens: int = 20, messages: int = 1, **more: Any) -> DefaultCompactor:
    """A compactor with a small tail and a short bridge."""
    more = {"summary_bridge": "Go on.", "summary_max_tokens": None, **more}
    return DefaultCompactor(
        DefaultCompactorConfig(keep_recent_tokens=tokens, keep_recent_messages=messages, **more)
    )


async def kept(history: list[Any], tokens: int = 20, messages: int = 1, **more: Any) -> list[Any]:
    """What stays of a history at its trigger, without the new summary, which comes first."""
    done = await compactor(tokens, messages).compact(request(history, ScriptedModel("notes"), **more))
    assert is_summary_item(done.history[0])
    assert [*done.dropped_items, *done.history[1:]] == history
    return done.history[1:]


@pytest.mark.parametrize(
    ("tokens", "messages", "size"),
    [(1, 1, 1), (20, 1, 1), (21, 1, 2), (422, 1, 2), (423, 1, 3), (1, 2, 2), (1, 3, 3), (500, 2, 3)],
)
async def test_the_tail_by_messages_or_tokens(tokens: int, messages: int, size: int) -> None:
    """The newest block is kept in any case, older ones while few enough items or few enough tokens."""
    assert await kept(FIVE, tokens, messages) == FIVE[-size:]


async def test_the_message_floor_counts_items_before_a_block_is_added() -> None:
    """A round of tools larger than the floor is kept whole."""
    history = [user(900), user(5), calls("a", "b"), result("a", 50), result("b", 50), user(5)]
    assert await kept(history, 1, 2) == history[2:]


async def test_the_first_refusal_closes_the_tail() -> None:
    """A small block behind a large one is not fetched back."""
    history = [user(5), assistant(900), user(5), assistant(5)]
    assert await kept(history) == history[2:]


async def test_an_interrupted_round_is_kept_or_left_whole() -> None:
    """A result that came after another message never stands without its call."""
    whole = [calls("a", "b"), result("a", 5), user(5), result("b", 5), user(5)]
    assert await kept([user(900), *whole], 1, 2) == whole
    assert await kept([user(900), *whole], 1, 1) == whole[-1:]


@pytest.mark.parametrize(
    ("model_args", "budget"),
    [
        (None, 2_104),
        ({"max_tokens": 100}, 6_100),
        ({"max_output_tokens": 200}, 6_000),
        ({"max_tokens": 0}, 7_200 - 1_000),
    ],
)
async def test_the_tail_budget_leaves_room_for_instructions_and_output(
    model_args: dict[str, Any] | None, budget: int
) -> None:
    """Window 8,000, trigger 7,200, instructions 1,000, cap 4,096: a tail of 2,104."""
    at: dict[str, Any] = {
        "window": 80_000,
        "trigger": 7_200,
        "estimate": 7_200,
        "instructions": text(1_000),
        "model_args": model_args,
    }
    for size in (budget, budget + 1):
        history = [user(9_000), user(size - 1), user(1)]
        done = await compactor(20_000, summary_max_tokens=4_096).compact(
            request(history, ScriptedModel("notes"), **at)
        )
        assert done.history[1:] == history[1 if size == budget else 2 :]


def below(history: list[Any], model: ScriptedModel) -> Any:
    """A request below its trigger."""
    return request(history, model, trigger=50_000)


@pytest.mark.parametrize(
    "history",
    [
        [user(500)],
        [OLD],
        [OLD, user(10)],
        [user(500), assistant(500), user(10)],
    ],
)
async def test_below_the_trigger_too_little_is_left_alone(history: list[Any]) -> None:
    """Nothing old, nothing new since the summary, or fewer than three blocks: no call, the same history."""
    model = ScriptedModel()
    done = await compactor().compact(below(history, model))
    assert (done.history, done.summary_content, done.dropped_items) == (history, "", ())
    assert done.summarizer_response is None
    assert model.asked == []


@pytest.mark.parametrize("history", [FIVE, [OLD, user(500), user(10)]])
async def test_below_the_trigger_enough_is_compacted(history: list[Any]) -> None:
    """Three older blocks are enough, and one that adds to a summary."""
    done = await compactor().compact(below(history, ScriptedModel("notes")))
    assert len(done.history) == 2


async def test_at_the_trigger_nothing_old_is_still_nothing_to_do() -> None:
    """A history that is all tail can't be compacted, however large."""
    model = ScriptedModel()
    done = await compactor().compact(request([user(5_000)], model))
    assert done.history == [user(5_000)]
    assert model.asked == []


@pytest.mark.parametrize("history", [[user(500), user(10)], [OLD, user(10)]])
async def test_at_the_trigger_one_block_or_a_large_summary_is_enough(history: list[Any]) -> None:
    """The request is too large already, so the number of blocks doesn't matter."""
    done = await compactor().compact(request(history, ScriptedModel("notes")))
    assert done.dropped_items == tuple(history[:1])


async def test_what_the_model_is_asked() -> None:
    """The prompt, the instructions, then the head with an older summary, and no more."""
    model = ScriptedModel("  notes \n")
    history = [OLD, *FIVE]
    done = await compactor(prompt="Take notes.").compact(request(history, model))
    assert model.asked == [
        [
            {"role": "system", "content": "Take notes."},
            {"role": "system", "content": "Be brief."},
            *history[:5],
        ]
    ]
    assert done.history == [render_summary_item(bridge="Go on.", summary_text="notes"), FIVE[-1]]
    assert done.summary_content == done.history[0]["content"]
    assert done.dropped_items == tuple(history[:5])
    assert done.summarizer_response == answered("  notes \n")


@pytest.mark.parametrize(
    ("cap", "given", "sent"),
    [
        (64, None, {"max_tokens": 64}),
        (64, {"temperature": 0}, {"temperature": 0, "max_tokens": 64}),
        (64, {"max_tokens": 7}, {"max_tokens": 7}),
        (64, {"max_output_tokens": 7}, {"max_output_tokens": 7}),
        (None, {"temperature": 0}, {"temperature": 0}),
        (None, None, None),
        (None, {}, None),
    ],
)
async def test_the_output_cap_is_added_only_where_none_is(
    cap: int | None, given: dict[str, Any] | None, sent: dict[str, Any] | None
) -> None:
    """The request's own arguments pass through and are not changed."""
    model = ScriptedModel("notes")
    before = dict(given) if given is not None else None
    await compactor(summary_max_tokens=cap).compact(request(FIVE, model, model_args=given))
    assert model.args == [sent]
    assert given == before


async def test_a_summary_after_the_tail_is_replaced_too() -> None:
    """Recompaction replaces a summary wherever it stands, and keeps the tail before it."""
    history = [user(900), *FIVE, OLD]
    done = await compactor(summary_placement="after_tail").compact(request(history, ScriptedModel("notes")))
    assert done.history == [FIVE[-1], render_summary_item(bridge="Go on.", summary_text="notes")]
    assert done.dropped_items == (user(900), *FIVE[:-1], OLD)


async def test_a_call_that_does_not_fit_is_not_made() -> None:
    """Prompt, instructions, head and output cap count; the error tells the sizes, the model is not asked."""
    needed = 25 + 3 + sum((400, 401, 402, 10)) + 100
    small = compactor(prompt=text(25), summary_max_tokens=100)
    model = ScriptedModel("notes")
    with pytest.raises(ContextOverflowError, match=f"exceed the context window: about {needed} tokens"):
        await small.compact(request(FIVE, model, window=needed - 1))
    assert model.asked == []
    assert len((await small.compact(request(FIVE, model, window=needed))).history) == 2
    assert issubclass(ContextOverflowError, CompactionError)
    assert issubclass(CompactionError, RuntimeError)


@pytest.mark.parametrize(
    "answer",
    [
        answered(" \n"),
        answered(None),
        answered(None, tool_calls=calls("a")["tool_calls"]),
        Response(choices=[]),
    ],
)
async def test_an_empty_summary_is_an_error_that_keeps_the_answer(answer: Response) -> None:
    """What the call cost is not lost with it."""
    with pytest.raises(CompactionError, match="empty summary") as caught:
        await compactor().compact(request(FIVE, ScriptedModel(answer)))
    assert caught.value.summarizer_response is answer


@pytest.mark.parametrize(("size", "fits"), [(840, True), (1_100, False)])
async def test_the_replacement_must_be_a_tenth_smaller(size: int, fits: bool) -> None:
    """Instructions don't count on either side."""
    model = ScriptedModel(text(size))
    asked = request(FIVE, model, instructions=text(50_000))
    if fits:
        assert len((await compactor().compact(asked)).history) == 2
        return
    with pytest.raises(CompactionError, match="did not shrink"):
        await compactor().compact(asked)


async def test_a_history_that_measures_nothing_is_not_judged() -> None:
    """A custom estimator that sees no tokens refuses no summary."""
    asked = replace(request([OLD, user(5)], ScriptedModel("notes")), estimator=lambda messages: 0)
    assert (await compactor().compact(asked)).dropped_items == (OLD,)
