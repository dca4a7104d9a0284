"""One session of a host: what it keeps, what it sends, and what its journal says of each turn."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from chaos.journal import Journal, Raised, Swap, Turn
from chaos.spans import numbers, spans
from chaos.talk import Message, number_of, said
from ebbtide import Policy, Pool, UnfittableRequest
from ebbtide import Turn as Prepared
from ebbtide.turn import Swapped
from ebbtide_cli.replay.provider_rules import broken_rules

WINDOW: Final = 8_000
MAX_TOKENS: Final = 200
SYSTEM: Final = "You are a careful engineer. Work through the parts one after the other."
FIRST_MESSAGES: Final = 17
"""Said before the first turn: about a third of the window, so that the first jobs come soon."""

_SUMMARY: Final = re.compile(r'<ebbtide-summary version="\d+" position="(\d+):')
_MODELS: Final = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5"}
_POLICY: Final[dict[str, Any]] = {
    "keep_recent_tokens": 600,
    "min_new_tokens": 200,
    "chunk_tokens": 1_200,
    "summary_max_tokens": 1_200,
    "wait_budget": 1.5,
    "swap_ratio": 0.7,
    "min_turns_between_swaps": 2,
}


@dataclass(frozen=True, slots=True)
class Role:
    """What a session is. `raw`: its host keeps all it ever said, and no buffer. `summariser`: "" for the
    worker's own choice.
    """

    session: str
    tenant: str
    dialect: Literal["anthropic", "openai"]
    raw: bool
    summariser: str = ""


class Conversation:
    """Takes turns. `turns` are those of an earlier process of this host, from whose last one it goes on."""

    def __init__(self, pool: Pool, role: Role, journal: Journal, life: int, turns: Sequence[Turn]) -> None:
        self._role = role
        self._journal = journal
        self._life = life
        self._first = True
        self._said = turns[-1].said if turns else FIRST_MESSAGES - 2
        self._messages = self._kept_before(turns)
        self._session = pool.session(
            tenant=role.tenant,
            session_id=role.session,
            model=_MODELS[role.dialect],
            context_window=WINDOW,
            dialect=role.dialect,
            policy=Policy(summariser=role.summariser, **_POLICY),
        )

    def _kept_before(self, turns: Sequence[Turn]) -> list[Message]:
        """Return what the host had kept: all that was said, or the buffer of its last turn."""
        if self._role.raw or not turns:
            return self._all(range(self._said))
        swaps = [turn.swap for turn in turns if turn.swap is not None]
        summary = [swaps[-1].message] if swaps else []
        return [*summary, *self._all(numbers(turns[-1].kept))]

    def _all(self, which: Iterable[int]) -> list[Message]:
        return [said(self._role.dialect, self._role.session, number) for number in which]

    def turn(self) -> None:
        """Say two messages more, take a turn with them, and write down what came of it."""
        self._messages += self._all(range(self._said, self._said + 2))
        self._said += 2
        at = time.monotonic()
        try:
            turn = self._session.prepare(self._messages, system=SYSTEM, max_tokens=MAX_TOKENS)
        except Exception as error:  # noqa: BLE001  whatever it is, a host must not meet it
            self._raised(at, error)
            if not isinstance(error, UnfittableRequest):
                return
            turn = error.turn
        took = time.monotonic() - at
        if not self._role.raw:
            self._messages = list(turn.buffer)
        self._journal.write(self._entry(turn, at, took))
        self._first = False

    def _raised(self, at: float, error: Exception) -> None:
        told = f"{type(error).__name__}: {error}"
        self._journal.write(Raised(self._role.session, self._life, at, told))

    def _entry(self, turn: Prepared, at: float, took: float) -> Turn:
        report, role = turn.report, self._role
        left = [*report.omitted, *report.superseded]
        affected = [turn.buffer[i] for run in left for i in range(run.start, run.stop)]
        standing, sent = _position(turn.buffer), _position(turn.messages)
        return Turn(
            session=role.session,
            life=self._life,
            at=at,
            number=report.turn,
            said=self._said,
            raw=role.raw,
            action=report.action.value,
            reason=report.reason.value,
            degraded=report.degraded,
            rung=report.rung.value if report.rung else "",
            took=took,
            waited=report.waited,
            first=self._first,
            tokens=report.sent,
            window=WINDOW,
            position=standing,
            kept=spans(_numbers(turn.buffer)),
            sent=spans(_numbers(turn.messages)),
            left_out=spans(_numbers(affected)),
            summary_sent=sent == standing or _position(affected) == standing,
            broken=[rule for rule, _ in broken_rules(role.dialect, turn.messages)],
            claim=report.claim,
            faults=list(report.faults),
            swap=_swap(turn.swap, role.raw) if turn.swap else None,
        )


def _numbers(messages: Iterable[Message]) -> list[int]:
    return [number for message in messages if (number := number_of(message)) is not None]


def _position(messages: Iterable[Message]) -> int:
    """Return how many messages the summary among these stands for, 0 without one."""
    for message in messages:
        found = _SUMMARY.match(str(message.get("content")))
        if found:
            return int(found[1])
    return 0


def _swap(swap: Swapped, raw: bool) -> Swap:
    record = swap.record
    return Swap(
        incarnation=record.incarnation,
        generation=record.generation,
        version=swap.version,
        body=record.body,
        base=record.base.count,
        position=record.position.count,
        covered=[[chunk.first, chunk.stop] for chunk in record.coverage],
        carried=[each.index for each in record.carried],
        released=[each.index for each in record.released],
        degraded=record.degraded,
        again=swap.again,
        message={} if raw else dict(swap.summary_message),
    )
