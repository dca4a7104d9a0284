"""What happened in a session, in words: one event for each turn, job, version, swap and problem."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ebbtide.turn import Report, Swapped
from ebbtide_cli.live.level import Level
from ebbtide_cli.replay.drive import Step
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.decide import Action, Reason


class Kind(StrEnum):
    """What happened, as the word that is shown for it.

    kept, ready, asked, waited, degraded, unfittable: how a turn went; each turn has one of them.
    """

    KEPT = "kept"
    READY = "ready"
    ASKED = "asked"
    WAITED = "waited"
    DEGRADED = "degraded"
    UNFITTABLE = "unfittable"
    JOB = "job"
    VERSION = "version"
    SWAP = "swap"
    PROBLEM = "problem"


STYLES: Final = {
    Kind.KEPT: "dim",
    Kind.READY: "none",
    Kind.ASKED: "yellow",
    Kind.WAITED: "magenta",
    Kind.DEGRADED: "red",
    Kind.UNFITTABLE: "bold red",
    Kind.JOB: "yellow",
    Kind.VERSION: "cyan",
    Kind.SWAP: "green",
    Kind.PROBLEM: "red",
}
"""The colour of each kind; its word stands beside it always."""

ORDINARY: Final = frozenset({Kind.KEPT, Kind.READY})
"""Kinds that a log of few lines leaves out: nothing happened, or the event after it says more."""


_WHY: Final = {
    Reason.SWAP_LATER: "the summary is ready, and waits while the provider's cache is warm",
    Reason.SWAP_DECLINED: "the host declined the summary",
}
"""Reasons whose name alone says too little."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a session: before or in which turn, and how large the request was, if told.

    `text` may hold anything that a transcript holds.
    """

    session: str
    turn: int
    kind: Kind
    text: str
    level: Level | None = None


def turn_events(session: str, step: Step) -> tuple[Event, ...]:
    """Return the event of a turn, and that of its swap if it has one."""
    report, swap = step.turn.report, step.turn.swap
    kind, text = _turn(step)
    turn = Event(session, step.number, kind, text, Level.before(report))
    if swap is None:
        return (turn,)
    return turn, Event(session, step.number, Kind.SWAP, _swapped(report, swap))


def _turn(step: Step) -> tuple[Kind, str]:
    report = step.turn.report
    why = _WHY.get(report.reason) or report.reason.value.replace("_", " ")
    if step.unfittable:
        return Kind.UNFITTABLE, "no view of it fits the window"
    if report.degraded:
        rung = report.rung.value if report.rung else "pruned"
        return Kind.DEGRADED, f"a view of {report.sent:,} tokens is sent, {rung}: {why}"
    kind, text = {
        Action.KEEP: (Kind.KEPT, f"over soft: {why}" if report.projected >= report.soft else ""),
        Action.ENQUEUE: (Kind.ASKED, "over soft: a summary is asked for"),
        Action.SWAP: (Kind.READY, "a record is ready"),
        Action.PRUNE: (Kind.KEPT, f"{_left_out(report)} superseded results are left out from now on"),
        Action.WAIT: (Kind.WAITED, "at hard: waiting for a record"),
    }.get(report.action, (Kind.KEPT, report.action.value))
    if report.waited:
        return Kind.WAITED, f"{text}, waited {report.waited:.1f} s"
    return kind, text or "buffer sent as it is"


def _left_out(report: Report) -> int:
    return sum(run.messages for run in report.superseded)


def _swapped(report: Report, swap: Swapped) -> str:
    told = f"{swap.removed} messages became summary {swap.version}, {swap.record.summary_tokens:,} tokens"
    return f"{told}: {report.projected:,} → {report.sent:,}"


def job_event(session: str, turn: int, number: int) -> Event:
    """Return the event of a job that came into the queue."""
    return Event(session, turn, Kind.JOB, f"{number} is in the queue; the host goes on")


def version_event(session: str, turn: int, record: RecordHeader | Swapped) -> Event:
    """Return the event of a record that was published."""
    text = f"{record.version} published: stands for the first {record.position.count} messages"
    return Event(session, turn, Kind.VERSION, text)
