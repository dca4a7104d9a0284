"""Rung truncated: head and tail by whole exchanges, a notice in place of each gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ebbtide_core.dialects.base import Message
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.notice import gap_notice
from ebbtide_core.views.view import Rung, View, omission


def truncated(ground: Ground) -> View | None:
    """Return the largest head-and-tail view below soft; None when there is nothing to leave out.

    Kept always: what is no exchange, what is carried, pinned or ephemeral, and the newest exchange on. Then,
    as far as they fit below soft, so that the view can be kept for some turns: the exchange of the active
    request, the first exchange, and the newest ones back without a gap.
    """
    if ground.newest <= 0:
        return None
    notice = ground.count(ground.buffer.dialect.user(gap_notice(len(ground.entries))))
    chosen = set(range(ground.newest, len(ground.runs)))
    left = ground.aim - sum(ground.tokens[i] for i in ground.fixed) - 3 * notice
    left -= sum(ground.size(ground.runs[k]) for k in chosen)
    for k in _heads(ground):
        if k not in chosen and ground.size(ground.runs[k]) <= left // 2:
            chosen.add(k)
            left -= ground.size(ground.runs[k])
    for k in reversed(range(ground.newest)):
        if k in chosen:
            continue
        if ground.size(ground.runs[k]) > left:
            break
        chosen.add(k)
        left -= ground.size(ground.runs[k])
    return view_of(ground, chosen)


def _heads(ground: Ground) -> list[int]:
    """The exchange of the active request, then the first one."""
    requests = [
        k
        for k, run in enumerate(ground.runs)
        if any(ground.entries[i].request for i in range(run.start, run.stop))
    ]
    return [*requests[-1:], 0]


def view_of(
    ground: Ground,
    chosen: Iterable[int],
    rung: Rung = Rung.TRUNCATED,
    instead: Mapping[int, Message] = MappingProxyType({}),
) -> View | None:
    """Return the view that keeps some exchanges and all that is always kept; None when that is everything.

    `instead` are messages that stand for those at a buffer index; their size is the caller's matter.
    """
    kept = set(ground.fixed)
    for k in chosen:
        kept.update(range(ground.runs[k].start, ground.runs[k].stop))
    gaps = omission(ground.buffer, set(range(len(ground.entries))) - kept)
    if not gaps:
        return None
    starts = {gap.start: gap for gap in gaps}
    messages: list[Message] = []
    tokens = sum(ground.tokens[i] for i in kept)
    for i, message in enumerate(ground.buffer.passed):
        if i in starts:
            notice = ground.buffer.dialect.user(gap_notice(starts[i].messages))
            messages.append(notice)
            tokens += ground.count(notice)
        if i in kept:
            messages.append(instead.get(i, message))
    return View(rung, tuple(messages), gaps, tokens)
