"""A compaction of the provider's in a buffer: nothing before it is read, so no summary may be lost there."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core import swap
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.summary.message import recognise
from tests.core.say import (
    ANTHROPIC,
    RESPONSES,
    Json,
    assistant,
    call,
    cut,
    figures,
    marked,
    reading,
    result,
    text,
    user,
)
from tests.laws.world import World

BLOCK: Json = {"type": "compaction", "content": "Port 8443 was chosen.", "signature": "c1"}
ITEM: Json = {"type": "compaction", "encrypted_content": "gAAA"}
FAILED: Json = {"type": "compaction", "content": None}


def talk(*middle: Json, rounds: int = 6) -> list[Json]:
    """A conversation with these messages in its middle."""
    before = [m for i in range(rounds) for m in (user(f"q{i}"), assistant(f"a{i}"))]
    after = [m for i in range(rounds) for m in (user(f"Q{i}"), assistant(f"A{i}"))]
    return [*before, *middle, *after]


SMALL = figures(soft=200, hard=300, window=400, summary=20)


def test_what_can_be_read_is_summarised_like_anything_else() -> None:
    """The cut goes behind the block: then the summary is read, and stands for what the block said too."""
    messages = talk(assistant(BLOCK, text("go on")))
    found = cut(messages, SMALL)
    assert found is not None
    assert found.index > 12
    assert found.carried == ()


def test_the_words_of_a_block_reach_the_summary() -> None:
    """Nothing that only the block still knew is lost."""
    world = World("anthropic", figures(soft=2_000, hard=3_000, window=4_000, summary=400), 0)
    buffer = world.read(talk(assistant(BLOCK, text("go on"))))
    found = world.cut(buffer)
    assert found is not None
    assert found.index > 12
    done = swap.apply(world.record(buffer, found), buffer)
    assert buffer.passed[12] not in done.messages
    marked_text = recognise(done.summary_message["content"])
    assert marked_text is not None
    assert any("8443" in name for name in marked_text.summary.identifiers)


@pytest.mark.parametrize(
    ("messages", "dialect"),
    [
        (talk(ITEM), RESPONSES),
        (talk(ITEM, ITEM), RESPONSES),
        (talk(marked(assistant(BLOCK), pinned=True)), ANTHROPIC),
        (talk(marked(assistant(BLOCK), ephemeral=True)), ANTHROPIC),
        (talk(assistant({**FAILED, "encrypted_content": "x"})), ANTHROPIC),
    ],
    ids=["sealed", "sealed twice", "pinned", "ephemeral", "sealed block"],
)
def test_no_summary_that_says_more_stands_before_a_block(messages: list[Json], dialect: Dialect) -> None:
    """The cut stays before it: what the summary then says, the block says as well."""
    found = cut(messages, SMALL, dialect=dialect)
    assert found is not None
    latest = max(i for i, entry in enumerate(reading(messages, dialect).entries) if entry.is_base)
    assert found.index <= latest
    assert all(not reading(messages, dialect).entries[i].is_base for i in found.kept)


def test_one_that_failed_is_nothing() -> None:
    """The provider ignores it."""
    found = cut(talk(assistant(FAILED, text("go on"))), SMALL)
    assert found is not None
    assert found.index > 12


def test_a_block_is_never_cut_from_what_stands_with_it() -> None:
    """The answer that goes on behind it, its calls and their results are one exchange."""
    messages = [user("go"), assistant(BLOCK, text("on"), call("t1")), user(result("t1")), assistant("done")]
    assert [(r.start, r.stop) for r in exchanges(reading(messages).entries)] == [(0, 1), (1, 3), (3, 4)]


def test_a_record_is_not_put_before_a_block_that_came_since() -> None:
    """An ephemeral block that would stay behind the summary would hide it."""
    world = World("anthropic", figures(soft=2_000, hard=3_000, window=4_000, summary=400), 0)
    messages = talk(rounds=8)
    buffer = world.read(messages)
    found = world.cut(buffer)
    assert found is not None
    late = [*messages[:2], marked(assistant(BLOCK), ephemeral=True), *messages[2:]]
    record = world.record(buffer, found)
    assert swap.apply(record, buffer).version == 1
    with pytest.raises(NotApplicable, match="hide it"):
        swap.apply(record, world.read(late))


@pytest.mark.parametrize(("base", "fmt"), [(assistant(BLOCK), "anthropic"), (ITEM, "openai_responses")])
def test_only_the_last_resort_leaves_the_latest_block_out(base: Json, fmt: Any) -> None:
    """It stands for what came before it, also where most else has to go."""
    world = World(fmt, figures(soft=300, hard=400, window=500, summary=200), 0)
    messages = talk(base, rounds=8)
    views = {view.rung.value: view.messages for view in world.views(world.read(messages))}
    assert base in views["truncated"]
    assert base not in views["bare"]
    if "extractive" in views and fmt == "openai_responses":
        assert base in views["extractive"]
