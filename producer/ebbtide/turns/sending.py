"""What goes to the model this turn: the buffer, or a smaller view of it, as the provider takes it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ebbtide.turns.memory import Memory
from ebbtide.turns.rewrites import Loosened
from ebbtide.turns.standing import Standing
from ebbtide.turns.sticky import Sticky, trailing
from ebbtide_core.dialects.base import Message
from ebbtide_core.dialects.thinking import Binding, binding
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.views.ladder import degrade
from ebbtide_core.views.view import View


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out. `view`: the degraded view, if it is one. `fits`: it is within the window.

    `cache_hint` is the index of the message up to which the next request will begin alike. `thinking` is how
    many thinking blocks were left out because the provider would refuse them, `saved` the tokenizer's tokens
    of those in messages that go out.
    """

    messages: list[Message]
    view: View | None
    fits: bool
    cache_hint: int | None
    thinking: int
    saved: int


def sent(memory: Memory, at: Standing, degraded: bool) -> Sent:
    """Return what goes out of a buffer, and remember a degraded view for the next turn."""
    kept, memory.sticky = memory.sticky, None
    view, fits = _view(at, kept) if degraded else (None, True)
    loosened = _loosened(memory, at, view)
    instead = _instead(at, loosened)
    messages = _as_sent(view.messages if view is not None else at.shown.passed, instead)
    if view is not None:
        memory.sticky = Sticky.of(at, view, messages)
    hint = _cache_hint(at.buffer, len(messages))
    return Sent(messages, view, fits, hint, loosened.blocks if loosened else 0, _saved(loosened, view))


def holds(memory: Memory, at: Standing) -> bool:
    """Say whether the last degraded view, with what came since, still does for a buffer."""
    return memory.sticky is not None and memory.sticky.extended(at.ground(), at.ratio) is not None


def _view(at: Standing, kept: Sticky | None) -> tuple[View | None, bool]:
    """The last view with what came since if it still does, else the mildest rung of the ladder that fits."""
    ground = at.ground()
    again = kept.extended(ground, at.ratio) if kept is not None else None
    if again is not None:
        return again, True
    chosen = degrade(ground, at.cut)
    return chosen.view, chosen.fits


def _loosened(memory: Memory, at: Standing, view: View | None) -> Loosened | None:
    if binding(memory.model) is Binding.FREE:
        return None
    return memory.rewrites.loosened(at.shown, _shape(at, view), at.sizes.meter)


def _saved(loosened: Loosened | None, view: View | None) -> int:
    if loosened is None:
        return 0
    gone = {i for span in view.omitted for i in range(span.start, span.stop)} if view else set()
    return sum(saved for i, saved in loosened.saved.items() if i not in gone)


def _instead(at: Standing, loosened: Loosened | None) -> dict[int, Message | None]:
    """What is sent in place of a message object, by its id: marks and lone surrogates gone, thinking that the
    provider would refuse left out. None: nothing is left of it."""
    shown = at.shown
    instead: dict[int, Message | None] = {id(shown.passed[i]): shown.sent(i) for i in shown.altered}
    if loosened is not None:
        instead |= {id(shown.passed[i]): message for i, message in loosened.sent.items()}
    return instead


def _shape(at: Standing, view: View | None) -> Hashable:
    """The way that what is sent differs from all that was said, None when it doesn't."""
    summary = at.buffer.summary
    if summary is None and view is None and not at.pruned.gone:
        return None
    base = (summary.version, summary.position) if summary else None
    return base, at.pruned.gone, (view.rung, view.omitted) if view else None


def _as_sent(messages: Sequence[Message], instead: Mapping[int, Message | None]) -> list[Message]:
    if not instead:
        return list(messages)
    found = (instead.get(id(message), message) for message in messages)
    return [message for message in found if message is not None]


def _cache_hint(buffer: Buffer, count: int) -> int | None:
    """The last message that the next request will hold as well."""
    loose = trailing(buffer)
    return count - 1 - loose if count > loose else None
