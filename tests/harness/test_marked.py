"""Ephemeral, internal and pinned messages in the default compactor."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide import mark
from ebbtide.harness import (
    CompactionResult,
    DefaultCompactor,
    DefaultCompactorConfig,
    is_ephemeral_message,
    is_internal_message,
    is_summary_item,
    render_summary_item,
)
from tests.harness.talk import ScriptedModel, assistant, calls, request, result, text, user

OLD = render_summary_item(bridge="Go on.", summary_text=text(200, "old notes"))


def note(name: str, tokens: int = 3) -> dict[str, Any]:
    """An ephemeral message."""
    return mark(user(tokens, name), ephemeral=True)


def context(name: str, tokens: int = 3) -> dict[str, Any]:
    """An internal message."""
    return mark(user(tokens, name), internal=True)


async def compacted(
    history: list[Any], tokens: int = 20, messages: int = 1, model: ScriptedModel | None = None, **more: Any
) -> CompactionResult:
    """The result of compacting a history at its trigger."""
    config = DefaultCompactorConfig(
        keep_recent_tokens=tokens,
        keep_recent_messages=messages,
        summary_bridge="Go on.",
        summary_max_tokens=None,
    )
    return await DefaultCompactor(config).compact(request(history, model or ScriptedModel("notes"), **more))


@pytest.mark.parametrize(
    ("item", "ephemeral", "internal"),
    [
        (note("a"), True, False),
        (context("a"), False, True),
        (user(), False, False),
        ("text", False, False),
        (None, False, False),
        ({"role": "user", "content": "x", "ebbtide": "not marks"}, False, False),
    ],
)
def test_items_are_told_by_our_marks(item: Any, ephemeral: bool, internal: bool) -> None:
    """Whatever an item is, asking never fails."""
    assert (is_ephemeral_message(item), is_internal_message(item)) == (ephemeral, internal)


async def test_ephemeral_messages_are_kept_and_never_sent() -> None:
    """Older ones come to stand before the tail in their order, those of the tail keep their place."""
    model = ScriptedModel("notes")
    history = [note("a"), user(400), note("b"), assistant(400), user(400), assistant(5), note("c"), user(5)]
    done = await compacted(history, model=model)
    assert done.history[1:] == [note("a"), note("b"), assistant(5), note("c"), user(5)]
    assert done.dropped_items == (user(400), assistant(400), user(400))
    assert model.asked[0][2:] == list(done.dropped_items)


async def test_an_ephemeral_message_inside_a_tool_round_moves_out_of_it() -> None:
    """The round is summarised whole, the message is kept."""
    history = [user(400), calls("a"), note("in the round"), result("a", 400), user(5)]
    done = await compacted(history)
    assert done.history[1:] == [note("in the round"), user(5)]
    assert done.dropped_items == (user(400), calls("a"), result("a", 400))


async def test_an_ephemeral_message_inside_a_kept_round_stays_there() -> None:
    """The tail is as it was."""
    history = [user(900), calls("a"), note("in the round"), result("a", 5)]
    assert (await compacted(history)).history[1:] == history[1:]


async def test_ephemeral_messages_do_not_anchor_the_tail() -> None:
    """The newest real message is kept although ephemeral ones follow it."""
    history = [user(900), user(5, "newest"), note("a"), note("b")]
    assert (await compacted(history, tokens=1)).history[1:] == history[1:]


async def test_ephemeral_messages_do_not_count_as_messages_of_the_tail() -> None:
    """The floor of two is met by two others."""
    history = [user(900), user(50), note("a"), note("b"), user(5)]
    assert (await compacted(history, tokens=1, messages=2)).history[1:] == history[1:]
    done = await compacted([user(900), user(50), user(5), note("a"), user(5)], tokens=1, messages=2)
    assert done.history[1:] == [user(5), note("a"), user(5)]


async def test_an_ephemeral_message_that_holds_a_summary_is_kept() -> None:
    """The mark counts, not the text: the active run still needs it."""
    shown = mark(OLD, ephemeral=True)
    done = await compacted([shown, user(900), user(5)])
    assert done.history[1:] == [shown, user(5)]


@pytest.mark.parametrize(("tokens", "fits"), [(40, True), (41, False)])
async def test_ephemeral_tokens_leave_the_tail_less_room(tokens: int, fits: bool) -> None:
    """They are taken off the room below the trigger like instructions and output, and not off the tail."""
    history = [note("a", tokens), user(900), user(50), user(9)]
    done = await compacted(
        history,
        tokens=70,
        trigger=109,
        estimate=109,
        instructions=text(10),
        model_args={"max_tokens": 0},
    )
    assert len(done.history) == (4 if fits else 3)


async def test_a_call_with_an_ephemeral_result_stays_with_it() -> None:
    """The result must be kept and can't stand without its call, so both are."""
    shown = mark(result("a", 5), ephemeral=True)
    done = await compacted([user(900), calls("a"), shown, assistant(400), user(5)])
    assert done.history[1:] == [calls("a"), shown, user(5)]
    assert done.dropped_items == (user(900), assistant(400))


async def test_pinned_messages_are_never_summarised() -> None:
    """They come to stand before the tail, with the round that they belong to."""
    pinned = mark(user(5, "approve?"), pinned=True)
    round_ = [calls("a"), mark(result("a", 5), pinned=True)]
    model = ScriptedModel("notes")
    done = await compacted([pinned, user(900), *round_, assistant(400), user(5)], model=model)
    assert done.history[1:] == [pinned, *round_, user(5)]
    assert model.asked[0][2:] == [user(900), assistant(400)]


async def test_the_newest_real_message_and_internal_ones_after_it_are_kept() -> None:
    """However large they are."""
    history = [user(5_000), assistant(5), user(700, "newest"), context("a", 600), context("b", 600)]
    done = await compacted(history, tokens=1)
    assert done.history[1:] == history[2:]


async def test_internal_messages_after_a_summary_do_not_close_the_tail() -> None:
    """The newest real message is older than the summary, and is kept."""
    history = [user(900), user(5, "newest"), OLD, context("a")]
    assert (await compacted(history, tokens=1)).history[1:] == [user(5, "newest"), context("a")]


async def test_older_internal_messages_follow_the_budgets() -> None:
    """They are kept while there is room, each by itself."""
    history = [user(900), context("a", 10), context("b", 10), user(5)]
    assert (await compacted(history, tokens=15)).history[1:] == history[2:]
    assert (await compacted(history, tokens=25)).history[1:] == history[1:]
    assert (await compacted(history, tokens=1, messages=2)).history[1:] == history[2:]


@pytest.mark.parametrize("summary", [[], [OLD]])
async def test_of_internal_messages_alone_the_newest_is_kept(summary: list[Any]) -> None:
    """There is nothing else to protect."""
    history = [context("a", 900), context("b", 50), *summary]
    assert (await compacted(history, tokens=1)).history[1:] == [context("b", 50)]


async def test_the_summariser_reads_internal_messages_without_their_metadata() -> None:
    """Those that are kept keep it."""
    rich = {**context("a", 50), "runtime": {"trace": 7}, "name": "host"}
    model = ScriptedModel("notes")
    done = await compacted([rich, user(900), user(5), rich], model=model, tokens=1)
    assert done.history[1:] == [user(5), rich]
    assert model.asked[0][2:] == [{"role": "user", "content": text(50, "a"), "name": "host"}, user(900)]


async def test_a_framework_s_own_tests_decide() -> None:
    """A host passes how its framework tells ephemeral and internal items."""
    history = [{**user(3), "scope": "run"}, user(900), user(5), {**user(400), "scope": "host"}]
    compactor = DefaultCompactor(
        DefaultCompactorConfig(keep_recent_tokens=1, keep_recent_messages=1),
        is_ephemeral=lambda item: item.get("scope") == "run",
        is_internal=lambda item: item.get("scope") == "host",
    )
    done = await compactor.compact(request(history, ScriptedModel("notes")))
    assert is_summary_item(done.history[0])
    assert done.history[1:] == [history[0], history[2], history[3]]
