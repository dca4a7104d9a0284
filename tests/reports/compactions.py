"""All that a compaction can make of a short conversation: each cut, at each turn, and each smaller view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ebbtide_cli.replay.provider_rules import Broken, new_violations
from ebbtide_core import swap
from ebbtide_core.summary.message import recognise
from tests.core.say import figures
from tests.laws import checks
from tests.laws.lives import UID
from tests.laws.world import Messages, World, dict_of
from tests.strategies.messages import Format

LEAST_SUMMARY = 60


@dataclass(frozen=True)
class Sent:
    """A conversation as it was and what a compaction sends of it; each message has its number as `uid`."""

    fmt: Format
    before: Messages
    messages: Messages

    @property
    def summary(self) -> str:
        """The text of the summary message, "" without one."""
        texts = (str(m["content"]) for m in self.messages)
        return next((text for text in texts if recognise(text)), "")

    @property
    def rest(self) -> Messages:
        """The messages of the conversation that are among those sent."""
        return [m for m in self.messages if UID in m]

    @property
    def calls(self) -> list[str]:
        """The ids of the calls that are sent."""
        return [name for m in self.messages for name in checks.calls_of(self.fmt, m)]

    @property
    def results(self) -> list[str]:
        """The ids that are answered in what is sent."""
        return [name for m in self.messages for name in checks.results_of(self.fmt, m)]

    @property
    def faults(self) -> list[Broken | str]:
        """Pairs torn apart, messages that are not those that were, and provider rules newly broken."""
        strange = [f"{m[UID]} was changed" for m in self.rest if m != self.before[m[UID]]]
        broken = new_violations(self.fmt, self.before, [checks.sent_form(m) for m in self.messages])
        return [*checks.torn(self.fmt, self.before, self.messages), *strange, *broken]


def swaps(messages: Messages, fmt: Format = "anthropic") -> Iterator[Sent]:
    """Yield the conversation after each compaction: at each turn, and keeping each number of messages."""
    for before in _turns(messages):
        for keep in range(1, len(before) + 1):
            world = World(fmt, figures(keep_messages=keep, summary=1_000), 0)
            buffer = world.read(before)
            cut = world.cut(buffer)
            if cut is not None:
                done = swap.apply(world.record(buffer, cut), buffer)
                yield Sent(fmt, before, [dict_of(m) for m in done.messages])


def views(messages: Messages, fmt: Format = "anthropic") -> Iterator[Sent]:
    """Yield each smaller view of the conversation, at each turn, in less and less room."""
    for before in _turns(messages):
        whole = World(fmt, figures(), 0)
        size = sum(whole.tokens(whole.read(before)))
        for share in (0.9, 0.5, 0.2):
            room = max(2, int(size * share))
            limits = figures(window=room, hard=room, soft=room, summary=max(LEAST_SUMMARY, room // 4))
            world = World(fmt, limits, 0)
            for view in world.views(world.read(before)):
                yield Sent(fmt, before, [dict_of(m) for m in view.messages])


def _turns(messages: Sequence[dict[str, object]]) -> Iterator[Messages]:
    named = [{**message, UID: number} for number, message in enumerate(messages)]
    return (named[: turn + 1] for turn in range(len(named)))
