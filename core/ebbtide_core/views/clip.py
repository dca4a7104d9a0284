"""Rung clipped: the results of the newest exchange shortened, head and tail kept, nothing else left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ebbtide_core.dialects.base import BlockKind, Message
from ebbtide_core.lineage.buffer import checked
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.notice import CLIP_MARK
from ebbtide_core.views.truncate import view_of
from ebbtide_core.views.view import Rung, View, omission

LEAST_CHARS: Final = 200
_SHRINK: Final = 0.7


def clip(text: str, limit: int) -> str:
    """Return the text's head and tail, `limit` characters in all, a mark saying how many are left out
    between."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    return text[:head] + CLIP_MARK.format(left_out=len(text) - limit) + text[len(text) - tail :]


def clipped(ground: Ground) -> View | None:
    """Return the view with the newest exchange only, its results clipped as little as fits; the smallest
    otherwise.

    None when the newest exchange holds no result longer than the least size of a clip.
    """
    longest = max((len(t) for t in _result_texts(ground)), default=0)
    if longest <= LEAST_CHARS:
        return None
    limit = float(min(longest - 1, max(LEAST_CHARS, ground.room * 4)))
    view = _view(ground, int(limit))
    while view.tokens > ground.room and limit > LEAST_CHARS:
        limit = max(float(LEAST_CHARS), limit * min(_SHRINK, ground.room / view.tokens))
        view = _view(ground, int(limit))
    return view


def _newest(ground: Ground) -> range:
    return range(ground.runs[ground.newest].start, len(ground.entries)) if ground.runs else range(0)


def _result_texts(ground: Ground) -> list[str]:
    dialect = ground.buffer.dialect
    passed = ground.buffer.passed
    messages = (checked(passed[i], i, dialect) for i in _newest(ground) if ground.entries[i].results)
    return [b.text for m in messages for b in dialect.blocks(m) if b.kind is BlockKind.RESULT]


@dataclass
class _Clipper:
    """Clips results and remembers whether any was."""

    limit: int
    touched: bool = False

    def __call__(self, text: str) -> str:
        short = clip(text, self.limit)
        self.touched = self.touched or short is not text
        return short


def _view(ground: Ground, limit: int) -> View:
    sent, saved = _clip_results(ground, limit)
    short = omission(ground.buffer, sent)
    alone = view_of(ground, range(ground.newest, len(ground.runs)), Rung.CLIPPED, sent)
    if alone is None:
        whole = tuple(sent.get(i, message) for i, message in enumerate(ground.buffer.passed))
        return View(Rung.CLIPPED, whole, short, sum(ground.tokens) - saved)
    return View(Rung.CLIPPED, alone.messages, (*alone.omitted, *short), alone.tokens - saved)


def _clip_results(ground: Ground, limit: int) -> tuple[dict[int, Message], int]:
    """Return what is sent instead of messages, by buffer index, and the tokens saved."""
    buffer = ground.buffer
    sent: dict[int, Message] = {}
    saved = 0
    for i in _newest(ground):
        if not ground.entries[i].results:
            continue
        clipper = _Clipper(limit)
        change: Callable[[str], str] = clipper
        smaller = buffer.dialect.map_results(checked(buffer.sent(i), i, buffer.dialect), change)
        if clipper.touched:
            sent[i] = smaller
            saved += ground.tokens[i] - ground.count(smaller)
    return sent, saved
