"""Laws of the default compactor over random histories."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ebbtide.harness import (
    MIN_SHRINK_RATIO,
    CompactionError,
    CompactionResult,
    DefaultCompactor,
    DefaultCompactorConfig,
    estimate_message_tokens,
    is_ephemeral_message,
    is_internal_message,
    is_summary_item,
    render_request_messages,
)
from ebbtide.harness.blocks import blocks
from ebbtide.harness.items import read_item
from tests.harness.histories import Items, histories
from tests.harness.talk import ScriptedModel, assistant, request, user

configs = st.builds(
    DefaultCompactorConfig,
    keep_recent_tokens=st.integers(1, 120),
    keep_recent_messages=st.integers(1, 6),
    summary_bridge=st.just("Go on."),
    summary_placement=st.sampled_from(["before_tail", "after_tail"]),
    summary_max_tokens=st.none() | st.integers(1, 50),
)


def compact(
    history: Items, config: DefaultCompactorConfig, model: ScriptedModel | None = None, notes: str = "notes"
) -> CompactionResult | None:
    """The result at the trigger, None when there is none that is smaller."""
    asked = request(history, model or ScriptedModel(notes))
    try:
        return asyncio.run(DefaultCompactor(config).compact(asked))
    except CompactionError:
        return None


def places(history: Items, items: list[Any]) -> list[int]:
    """The indices of items in the history they came from."""
    known = {id(item): at for at, item in enumerate(history)}
    return [known[id(item)] for item in items if id(item) in known]


@given(histories, configs)
def test_every_item_is_kept_or_replaced_and_kept_in_order(
    history: Items, config: DefaultCompactorConfig
) -> None:
    """Nothing is lost, doubled, changed or moved past another."""
    done = compact(history, config)
    if done is not None:
        kept, dropped = places(history, done.history), places(history, list(done.dropped_items))
        assert sorted(kept + dropped) == list(range(len(history)))
        assert (kept, dropped) == (sorted(kept), sorted(dropped))


@given(histories, configs)
def test_no_call_is_parted_from_its_result(history: Items, config: DefaultCompactorConfig) -> None:
    """Of a call and its results all are kept or none."""
    done = compact(history, config)
    if done is not None:
        kept = set(places(history, done.history))
        owner: dict[str, int] = {}
        pairs = []
        for at, item in enumerate(history):
            owner |= {call["id"]: at for call in item.get("tool_calls", ())}
            if item.get("tool_call_id") in owner:
                pairs.append((owner[item["tool_call_id"]], at))
        assert all((call in kept) == (answer in kept) for call, answer in pairs)


@given(histories, configs)
def test_ephemeral_messages_stay_and_are_sent_to_nobody(
    history: Items, config: DefaultCompactorConfig
) -> None:
    """All of them are kept, in their order, and the summariser reads none, nor any mark."""
    model = ScriptedModel("notes")
    done = compact([*history, user(500), user(1)], config, model)
    if done is not None:
        assert [i for i in done.history if is_ephemeral_message(i)] == [
            i for i in history if is_ephemeral_message(i)
        ]
        assert not any(is_ephemeral_message(i) for i in done.dropped_items)
    for asked in model.asked:
        assert not any(message.get("name") == "ephemeral" or "ebbtide" in message for message in asked)


@given(histories, configs)
def test_pinned_messages_stay(history: Items, config: DefaultCompactorConfig) -> None:
    """All of them, whatever stands around them."""
    done = compact(history, config)
    if done is not None:
        assert not any(item.get("name") == "pinned" for item in done.dropped_items)


@given(histories, configs)
def test_the_tail_is_one_run_of_blocks(history: Items, config: DefaultCompactorConfig) -> None:
    """But for what can't be summarised, all before the first kept block is replaced, and the newest real
    block is kept."""
    done = compact(history, config)
    if done is not None:
        kept = set(places(history, done.history))
        whole = blocks([read_item(i, is_ephemeral_message, is_internal_message) for i in history])
        movable = [b for b in whole if not b.summary and not b.fixed]
        stays = [kept.issuperset(b.indices) for b in movable]
        assert stays == sorted(stays)
        real = [b for b in whole if not b.summary and not b.internal]
        assert all(kept.issuperset(b.indices) for b in real[-1:])


@given(histories, configs, st.integers(1, 400))
def test_the_result_is_smaller_or_there_is_none(
    history: Items, config: DefaultCompactorConfig, size: int
) -> None:
    """A replacement that is hardly smaller is an error; else the history is as it was."""
    done = compact(history, config, notes="n" * size)
    if done is not None:
        before, after = (
            estimate_message_tokens(render_request_messages(None, h)) for h in (history, done.history)
        )
        assert done.history == history or before == 0 or after <= MIN_SHRINK_RATIO * before


@given(histories, configs, st.integers(1, 4))
def test_compacting_again_replaces_the_summary(
    history: Items, config: DefaultCompactorConfig, rounds: int
) -> None:
    """There is one summary however often, and it is the newest."""
    for n in range(rounds):
        history = [*history, user(300), assistant(300), user(5)]
        done = compact(history, config, notes=f"notes {n}")
        if done is not None and done.summary_content:
            history = done.history
            (summary,) = [item for item in history if is_summary_item(item)]
            assert f"notes {n}" in summary["content"]
