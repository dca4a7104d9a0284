"""Random histories with all that has broken compactors, and random lives of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from hypothesis import strategies as st

from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import ByteEstimate
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import read
from ebbtide_core.policy import Limits
from ebbtide_core.summary.model import MAX_REQUEST_CHARS, RequestState, Summary
from tests.laws.world import Life, Messages, World
from tests.strategies.content import texts
from tests.strategies.messages import Format, buffers, formats

MARK: Final = "ebbtide"
UID: Final = "uid"
"""A key that names each message of a history, so that checks need not trust the code under test."""

Season = Callable[[Messages, int, Format], Messages]


def _over_cap(messages: Messages, at: int, _: Format) -> Messages:
    """Make a user's message longer than a summary may quote."""
    if messages[at].get("role") != "user" or not isinstance(messages[at].get("content"), str):
        return messages
    long = {**messages[at], "content": "please " * (MAX_REQUEST_CHARS // 7 + 1)}
    return [*messages[:at], long, *messages[at + 1 :]]


def _half_ephemeral(messages: Messages, at: int, _: Format) -> Messages:
    """Mark one message, whatever it is half of."""
    return [*messages[:at], {**messages[at], MARK: {"ephemeral": True}}, *messages[at + 1 :]]


def _instruction(messages: Messages, at: int, fmt: Format) -> Messages:
    """Put a system message behind a user's, which both providers allow."""
    if messages[at].get("role") != "user":
        return messages
    role = "system" if fmt == "anthropic" else "developer"
    return [*messages[: at + 1], {"role": role, "content": "Be brief from here on."}, *messages[at + 1 :]]


def _same_text(messages: Messages, at: int, _: Format) -> Messages:
    """Say something again in the same words."""
    return [*messages, messages[at]] if messages[at].get("role") == "user" else messages


_SEASONS: Final[tuple[Season, ...]] = (_over_cap, _half_ephemeral, _instruction, _same_text)


@st.composite
def histories(draw: st.DrawFn, fmt: Format, *, min_exchanges: int = 0, max_exchanges: int = 12) -> Messages:
    """Return whole histories, each message with its `uid`; some break rules of their provider."""
    bad = draw(st.integers(0, 7)) == 0
    messages = draw(
        buffers(
            fmt, min_exchanges=min_exchanges, max_exchanges=max_exchanges, malformed=bad and max_exchanges > 0
        )
    )
    for season in draw(st.lists(st.sampled_from(_SEASONS), max_size=4)):
        if messages:
            messages = season(messages, draw(st.integers(0, len(messages) - 1)), fmt)
    if draw(st.integers(0, 9)) == 0:
        first = next((i for i, m in enumerate(messages) if m.get("role") == "assistant"), 0)
        messages = messages[first:]
    return [{**message, UID: number} for number, message in enumerate(messages)]


@st.composite
def worlds(draw: st.DrawFn, fmt: Format, messages: Messages) -> World:
    """Return limits under which some of these messages may have to go."""
    meter = Meter(ByteEstimate(), by_name(fmt))
    total = Sizes(meter, read(messages, by_name(fmt))).exact() + 10
    soft = draw(st.integers(total // 5, total * 3 // 2))
    hard = draw(st.integers(soft + 1, soft + total // 3 + 1))
    figures = Limits(
        window=hard + draw(st.integers(0, total // 5)),
        soft=soft,
        hard=hard,
        keep_recent_tokens=draw(st.integers(0, total // 3)),
        keep_recent_messages=draw(st.integers(1, 3)),
        min_new_tokens=1,
        max_tokens=1,
        summary_max_tokens=draw(st.integers(150, 500)),
    )
    return World(fmt, figures, draw(st.integers(0, soft // 5)))


items = st.lists(texts.map(lambda text: text.encode(errors="replace").decode()[:400]), max_size=4).map(tuple)
summaries: st.SearchStrategy[Summary] = st.builds(
    Summary,
    session_intent=st.sampled_from(["", "Port the build."]),
    active_request=st.sampled_from(["", "fix it\n## decisions\n- none"]),
    active_request_state=st.sampled_from(RequestState),
    user_constraints=items,
    decisions=items,
    identifiers=items,
    language=st.sampled_from(["", "en"]),
)
"""Small summaries that any summariser might have written."""


@st.composite
def lives(draw: st.DrawFn, *, min_exchanges: int = 4, max_exchanges: int = 10) -> Life:
    """Return lives of up to four stages, cut anywhere, also between a call and its result."""
    fmt = draw(formats)
    history = draw(histories(fmt, min_exchanges=min_exchanges, max_exchanges=max_exchanges))
    number = draw(st.integers(1, 4))
    borders = sorted(
        draw(st.integers(len(history) * k // (number + 1), len(history))) for k in range(1, number)
    )
    edges = [0, *borders, len(history)]
    stages = [history[a:b] for a, b in pairwise(edges)]
    return Life(
        world=draw(worlds(fmt, history)),
        stages=stages,
        unpins=frozenset({draw(st.integers(1, 5))}),
        summaries=draw(st.lists(st.none() | summaries, min_size=1, max_size=3)),
    )
