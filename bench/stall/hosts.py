"""The hosts that are compared: one that compacts inline at a share of the window, one that uses Ebbtide."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from anthropic import Anthropic

from bench.stall.plays import WINDOW, Play
from ebbtide import Action, Pool, Reason, UnfittableRequest
from ebbtide.turn import Turn
from ebbtide_core.budget.boundary import boundary
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.base import Message
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import compact
from ebbtide_core.lineage.buffer import checked, read
from ebbtide_core.policy import limits
from ebbtide_core.swap import heads

MODEL: Final = "bench"
"""The host's model: no ratio is known for it, tokens count as they are."""

SUMMARISER: Final = "claude-haiku-5-5"
_ASK: Final = "Summarise this conversation so that the work can go on without it."
_ASKING: Final = frozenset({Action.ENQUEUE, Action.WAIT})
_ASKED: Final = frozenset({Reason.JOB_PENDING, Reason.NO_RECORD_IN_TIME})


@dataclass(frozen=True, slots=True)
class Moment:
    """What one turn met; sizes in tokens, times in seconds as they passed here.

    `asked`: a compaction was asked for, or under way, and none was swapped in. `compacted`: one was.
    `held`: how long the turn waited for a model. `busy`: how long it took besides. `whole`: the request could
    be sent below the hard watermark without leaving anything out. `faults`: what Ebbtide had to work around.
    """

    at: float
    projected: int
    soft: int
    hard: int
    asked: bool
    compacted: bool
    held: float
    busy: float
    whole: bool
    faults: int = 0


class Host(Protocol):
    """Prepares the requests of one session."""

    def turn(self, messages: Sequence[Message]) -> tuple[list[Message], Moment]:
        """Return the buffer to keep and what the turn met."""


class Ebbtide:
    """A host that calls `prepare` before each request."""

    def __init__(self, pool: Pool, play: Play, tenant: str) -> None:
        self._play = play
        self._session = pool.session(
            tenant=tenant,
            session_id=play.name,
            model=MODEL,
            context_window=WINDOW,
            dialect=play.dialect,
            policy=play.policy,
        )

    def turn(self, messages: Sequence[Message]) -> tuple[list[Message], Moment]:
        """Prepare one turn."""
        began = time.monotonic()
        try:
            turn = self._session.prepare(messages, system=self._play.system, tools=self._play.tools)
        except UnfittableRequest as error:
            turn = error.turn
        return turn.buffer, _moment(turn, began, time.monotonic() - began)


def _moment(turn: Turn, began: float, took: float) -> Moment:
    report = turn.report
    return Moment(
        at=began,
        projected=report.projected,
        soft=report.soft,
        hard=report.hard,
        asked=report.action in _ASKING or report.reason in _ASKED,
        compacted=turn.swap is not None,
        held=report.waited,
        busy=took - report.waited,
        whole=not report.degraded,
        faults=len(report.faults),
    )


class Inline:
    """A host that, at a share of the window, asks the model for a summary and waits for it.

    The summary stands for everything before the tail, which is the one that Ebbtide would keep.
    """

    def __init__(self, client: Anthropic, play: Play, share: float) -> None:
        self._client = client
        self._mark = int(share * WINDOW)
        self._limits = limits(play.policy, WINDOW)
        self._dialect = by_name(play.dialect)
        self._tokens = tokenizer()
        self._known: dict[int, tuple[Message, int]] = {}
        given = (part for part in (play.system, play.tools) if part)
        self._outside = sum(self._tokens.count(compact(part)) for part in given) + self._limits.max_tokens

    def turn(self, messages: Sequence[Message]) -> tuple[list[Message], Moment]:
        """Compact when due."""
        began = time.monotonic()
        projected = self._projected(messages)
        compacted = self._compacted(messages) if projected >= self._mark else None
        kept, held = compacted or (list(messages), 0.0)
        return kept, Moment(
            at=began,
            projected=projected,
            soft=self._limits.soft,
            hard=self._limits.hard,
            asked=False,
            compacted=compacted is not None,
            held=held,
            busy=time.monotonic() - began - held,
            whole=self._projected(kept) < self._limits.hard,
        )

    def _projected(self, messages: Sequence[Message]) -> int:
        return self._outside + sum(map(self._size, messages))

    def _size(self, message: Message) -> int:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            weight = self._dialect.weight(checked(message, 0, self._dialect))
            known = message, self._tokens.count(weight.text) + weight.fixed + 1
            self._known[id(message)] = known
        return known[1]

    def _compacted(self, messages: Sequence[Message]) -> tuple[list[Message], float] | None:
        """Return the new buffer and how long the model took, None when too little is before the tail."""
        buffer = read(list(messages), self._dialect)
        cut = boundary(buffer, [self._size(m) for m in messages], self._limits, self._outside)
        if cut is None or cut.new_tokens < self._limits.min_new_tokens:
            return None
        began = time.monotonic()
        summary = self._asked(messages[: cut.index])
        held = time.monotonic() - began
        lead, behind = heads(buffer.entries, cut.index)
        stays = [*behind, *(i for i in cut.kept if i not in lead and i not in behind)]
        return [
            *(messages[i] for i in lead),
            self._dialect.user(summary),
            *(messages[i] for i in stays),
            *messages[cut.index :],
        ], held

    def _asked(self, head: Sequence[Message]) -> str:
        answer = self._client.messages.create(
            model=SUMMARISER,
            max_tokens=4_096,
            system=_ASK,
            messages=[{"role": "user", "content": compact(list(head))}],
        )
        return "".join(block.text for block in answer.content if block.type == "text")
