"""Random conversations of each format, plain dicts built exchange by exchange, and random edits of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

from hypothesis import assume
from hypothesis import strategies as st

from tests.strategies import anthropic_messages, openai_messages, responses_items
from tests.strategies.content import Json, Messages, Shape, texts

Format = Literal["anthropic", "openai", "openai_responses"]

MARK: Final = "ebbtide"
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
FORMATS: Final[tuple[Format, ...]] = ("anthropic", "openai", "openai_responses")
_SHAPES: Final[dict[Format, Shape]] = {
    "anthropic": anthropic_messages.SHAPE,
    "openai": openai_messages.SHAPE,
    "openai_responses": responses_items.SHAPE,
}
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

formats: st.SearchStrategy[Format] = st.sampled_from(FORMATS)


def exchange(fmt: Format) -> st.SearchStrategy[Messages]:
    """Return exchanges that are valid wherever they stand (in the Messages format: after a user message)."""
    return _SHAPES[fmt].exchange


@st.composite
def buffers(
    draw: st.DrawFn,
    fmt: Format,
    *,
    min_exchanges: int = 0,
    max_exchanges: int = 12,
    malformed: bool = False,
    marks: bool = True,
) -> Messages:
    """Return whole conversations.

    Valid ones break no provider rule; the last exchange may hold open calls. `malformed` ones hold exactly
    one exchange that the provider rejects, somewhere. With `marks` some messages carry
    `{"ebbtide": {…: True}}`: `ephemeral` and `internal` on whole exchanges, `pinned` also on single messages.
    """
    shape = _SHAPES[fmt]
    spare = 1 if malformed else 0
    least, most = max(min_exchanges - spare, 0), max(max_exchanges - spare, 0)
    body = draw(st.lists(shape.exchange, min_size=least, max_size=most))
    if malformed:
        body.insert(draw(st.integers(0, len(body))), draw(shape.malformed))
    if fmt == "anthropic" and body and body[0][0]["role"] != "user":
        body[0] = [*draw(shape.opening), *body[0]]
    if body and len(body) < max_exchanges and draw(st.booleans()):
        body.append(draw(shape.ending))
    if marks:
        body = [_marked(draw, messages) for messages in body]
    return [message for messages in body for message in messages]


_names = st.sampled_from([None, None, None, None, None, "ephemeral", "internal", "pinned"])
_pins = st.none() | st.integers(0, 3)


def _marked(draw: st.DrawFn, messages: Messages) -> Messages:
    """Return the exchange, sometimes with a mark. System messages never carry one."""
    name = draw(_names)
    if name is None or messages[0].get("role") in SYSTEM_ROLES:
        return messages
    only = draw(_pins) if name == "pinned" else None
    return [{**m, MARK: {name: True}} if only in (None, i) else m for i, m in enumerate(messages)]


def lineage_indices(buffer: Messages) -> list[int]:
    """Return the indices of what counts as said: neither ephemeral nor a system or developer message."""
    return [
        i
        for i, message in enumerate(buffer)
        if message.get("role") not in SYSTEM_ROLES and not message.get(MARK, {}).get("ephemeral")
    ]


@dataclass(frozen=True)
class Edit:
    """A conversation after one change of what was said.

    `kind`: changed, dropped, inserted or swapped. `same`: how many lineage messages from the first on are
    still the same, so a position up to there still holds and any later one does not.
    """

    kind: str
    same: int
    buffer: Messages


@st.composite
def edits(draw: st.DrawFn, buffer: Messages) -> Edit:
    """Return one edit: a changed text, a dropped or inserted message, or two different neighbours swapped.

    Only lineage messages are touched, the argument never. The result need not be valid for the provider.
    """
    said = lineage_indices(buffer)
    pairs = [(a, b) for a, b in pairwise(said) if _loose(buffer[a]) != _loose(buffer[b])]
    kinds = ["inserted", *(["changed", "dropped"] if said else []), *(["swapped"] if pairs else [])]
    kind = draw(st.sampled_from(kinds))
    after = list(buffer)
    if kind == "inserted":
        after.insert(draw(st.integers(0, len(buffer))), {"role": "user", "content": draw(texts)})
    elif kind == "changed":
        at = draw(st.sampled_from(said))
        after[at] = _changed(buffer[at], draw(st.sampled_from(["!", " and more", "\u6771"])))
    elif kind == "dropped":
        del after[draw(st.sampled_from(said))]
    else:
        a, b = draw(st.sampled_from(pairs))
        after[a], after[b] = buffer[b], buffer[a]
    same = _same(_exact, buffer, after)
    assume(same == _same(_loose, buffer, after))
    return Edit(kind, same, after)


def _changed(message: Json, more: str) -> Json:
    """Return the message with its first text made longer, or with a text more."""
    content = message.get("content")
    if not isinstance(content, list):
        return {**message, "content": (content or "") + more}
    blocks = list(content)
    at = next((i for i, block in enumerate(blocks) if block.get("type") == "text"), None)
    if at is None:
        blocks.append({"type": "text", "text": more})
    else:
        blocks[at] = {**blocks[at], "text": blocks[at]["text"] + more}
    return {**message, "content": blocks}


def _same(view: Callable[[Json], Any], before: Messages, after: Messages) -> int:
    old = [view(before[i]) for i in lineage_indices(before)]
    new = [view(after[i]) for i in lineage_indices(after)]
    return next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )


def _exact(message: Json) -> Json:
    """Return everything but our mark: any form of a message that is hashed is at most as fine as this."""
    return {key: value for key, value in message.items() if key != MARK}


def _loose(value: Any) -> Any:
    """Return only what no canonical form leaves out: any form that is hashed is at least as fine as this."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_loose(item) for item in value]
    if isinstance(value, dict):
        kept = {k: _loose(v) for k, v in value.items() if v is not None and k not in (MARK, "cache_control")}
        if isinstance(kept.get("content"), str):
            kept["content"] = [{"type": "text", "text": kept["content"]}]
        return kept
    return value
