"""What a test host holds: the truth of what was said, and the buffer that stands for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from ebbtide_core.lineage.chain import Chain, Position, origin

ORIGIN: Final = origin("test")
SUMMARY_SIZE: Final = 1
LEAST_SAVING: Final = 0.9
"""A swap leaves at most this share of the buffer, or it is none."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: an identity and a size in tokens (the windows of these tests are a few tokens wide)."""

    uid: int
    size: int = 1

    @property
    def canonical(self) -> bytes:
        """The message's canonical form."""
        return b"m%d/%d" % (self.uid, self.size)


@dataclass(frozen=True, slots=True)
class SummaryMessage:
    """A summary in a buffer. `covers` is what it truly stands for; hosts never decide by it, checkers do."""

    version: int
    body: str
    position: Position
    covers: tuple[Message, ...]


@dataclass(slots=True)
class Conversation:
    """A lineage (the truth) and a buffer: `summary`, or none, and the `tail` after it.

    A raw host sends `summary + tail` too, but keeps the whole history and measures its chain over that.
    """

    raw: bool
    lineage: list[Message] = field(default_factory=list)
    summary: SummaryMessage | None = None
    tail: list[Message] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Tokens of the buffer."""
        return measured(self.summary, self.tail)

    @property
    def base(self) -> Position:
        """The position that the buffer's tail begins at."""
        return self.summary.position if self.summary else ORIGIN

    def chain(self) -> Chain:
        """Return the chain as the host knows it: over the raw history, or from the summary's position on."""
        if self.raw:
            return Chain(ORIGIN).extend(m.canonical for m in self.lineage)
        return Chain(self.base).extend(m.canonical for m in self.tail)

    def after(self, count: int) -> list[Message]:
        """Return the messages of the buffer after a count of the lineage that lies on the host's chain."""
        return self.lineage[count:] if self.raw else self.tail[count - self.base.count :]

    def before(self, count: int) -> tuple[Message, ...]:
        """Return the messages from the buffer's base to a count: what a job up to there has to cover."""
        if self.raw:
            return tuple(self.lineage[self.base.count : count])
        return tuple(self.tail[: count - self.base.count])

    def say(self, message: Message) -> None:
        """Append a message."""
        self.lineage.append(message)
        self.tail.append(message)

    def edit(self, back: int, uid: int, *, cut: bool) -> None:
        """Replace the message `back` places before the last; with `cut`, rewind to it.

        Nothing happens where the buffer no longer holds that message.
        """
        index = len(self.lineage) - 1 - back
        first = 0 if self.raw else len(self.lineage) - len(self.tail)
        if index < first:
            return
        changed = replace(self.lineage[index], uid=uid)
        rest = [] if cut else self.lineage[index + 1 :]
        self.lineage = [*self.lineage[:index], changed, *rest]
        if self.raw and self.summary and not self._stands(self.summary):
            self.summary = None
        self.tail = self.lineage[len(self.summary.covers) if self.summary else 0 :]

    def swap(self, summary: SummaryMessage) -> None:
        """Replace everything up to the summary's position by the summary."""
        self.tail = self.after(summary.position.count)
        self.summary = summary

    def copy(self, raw: bool) -> Conversation:
        """Return what a later life, or another host, takes over: the buffer, or the raw history."""
        if raw or self.raw:
            return Conversation(raw, list(self.lineage), None, list(self.lineage))
        return Conversation(False, list(self.lineage), self.summary, list(self.tail))

    def _stands(self, summary: SummaryMessage) -> bool:
        return tuple(self.lineage[: len(summary.covers)]) == summary.covers


def measured(summary: SummaryMessage | None, tail: list[Message]) -> int:
    """Return the tokens of a buffer."""
    return (SUMMARY_SIZE if summary else 0) + sum(m.size for m in tail)
