"""What is known of one session that runs, and what is going on with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ebbtide_cli.live.event import Event, Kind, job_event, turn_events, version_event
from ebbtide_cli.live.level import Level
from ebbtide_cli.replay.drive import Step
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.store.results import ClaimStage

SWAP_TURNS: Final = 3
"""For so many turns a swap is told when nothing else is going on."""

PAST_TURNS: Final = 60
"""Of so many turns a lane knows how large they were."""

SLOW_SECONDS: Final = 0.5
"""A turn that takes longer is told to be waiting."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a session's state found: jobs enqueued so far, kept records, newest version, claim."""

    jobs: int
    headers: tuple[RecordHeader, ...]
    newest: int
    stage: ClaimStage | None


@dataclass(frozen=True, slots=True)
class Lane:
    """One session that runs.

    `turn` of `turns` was the last. `last` says how it went, `rung` which step of the ladder it took if it
    was degraded. `version` is the summary that its buffer begins with (0: none), `swap_turn` when that was
    swapped in. `published` is the newest version in the state, `stage` where the claimed job is. `began` is
    when the turn under way began, by the clock of whoever shows it; None between turns. `past` are the
    levels of the last `PAST_TURNS` turns.
    """

    session: str
    turns: int
    level: Level
    turn: int = 0
    last: Kind = Kind.KEPT
    rung: str = ""
    version: int = 0
    swap_turn: int = -SWAP_TURNS
    jobs: int = 0
    published: int = 0
    swaps: int = 0
    degraded: int = 0
    stage: ClaimStage | None = None
    began: float | None = None
    past: tuple[Level, ...] = ()

    @property
    def expects(self) -> bool:
        """Whether something can happen to it outside its host: below soft, without a claim, nothing can."""
        return self.level.came >= self.level.soft or self.stage is not None

    @property
    def awaits_job(self) -> bool:
        """Whether a summary was asked for in the last turn, or is being made."""
        return self.stage is not None or self.last is Kind.ASKED


def stepped(lane: Lane, step: Step) -> tuple[Lane, Sequence[Event]]:
    """Return the lane after a turn, and what happened; a version that no look has found came before it."""
    events = turn_events(lane.session, step)
    report, swap = step.turn.report, step.turn.swap
    level = Level.after(report, swapped=swap is not None)
    fresh = swap is not None and swap.version > lane.published
    after = replace(
        lane,
        turn=step.number,
        level=level,
        past=(*lane.past, level)[-PAST_TURNS:],
        last=events[0].kind,
        rung=report.rung.value if report.rung else "",
        version=report.version,
        swap_turn=step.number if swap else lane.swap_turn,
        swaps=lane.swaps + (swap is not None),
        degraded=lane.degraded + report.degraded,
        published=swap.version if swap and fresh else lane.published,
        began=None,
    )
    versions = [version_event(lane.session, step.number, swap)] if swap and fresh else []
    return after, [*versions, *events]


def looked(lane: Lane, seen: Seen) -> tuple[Lane, Sequence[Event]]:
    """Return the lane after a look at its state, and the jobs and versions that are new."""
    jobs = [job_event(lane.session, lane.turn, n) for n in range(lane.jobs + 1, seen.jobs + 1)]
    fresh = (header for header in seen.headers if header.version > lane.published)
    versions = [version_event(lane.session, lane.turn, header) for header in fresh]
    answered = lane.last is Kind.ASKED and (seen.jobs > lane.jobs or seen.newest > lane.published)
    after = replace(
        lane,
        jobs=max(lane.jobs, seen.jobs),
        published=max(lane.published, seen.newest),
        stage=seen.stage,
        last=Kind.KEPT if answered else lane.last,
    )
    return after, [*jobs, *versions]


def activity(lane: Lane, now: float) -> tuple[Kind, str]:
    """Return what is going on with a session: the kind that colours it, and words that say it without."""
    slow = now - lane.began if lane.began is not None else 0.0
    if slow >= SLOW_SECONDS:
        return Kind.WAITED, f"waiting {slow:.0f} s"
    if lane.last is Kind.UNFITTABLE:
        return Kind.UNFITTABLE, "unfittable"
    if lane.last is Kind.DEGRADED:
        return Kind.DEGRADED, f"degraded: {lane.rung}" if lane.rung else "degraded"
    if lane.swap_turn == lane.turn:
        return Kind.SWAP, f"swap: version {lane.version} in"
    if lane.published > lane.version:
        return Kind.VERSION, f"version {lane.published} published"
    if lane.awaits_job:
        return Kind.JOB, _job(lane)
    if lane.last is Kind.WAITED:
        return Kind.WAITED, "waited for a record"
    if lane.turn - lane.swap_turn < SWAP_TURNS:
        return Kind.SWAP, f"swap: version {lane.version} in"
    return Kind.KEPT, "starting" if not lane.turn else lane.level.zone.value


def _job(lane: Lane) -> str:
    if lane.stage is None:
        return f"job {lane.jobs + 1} asked for"
    words = {ClaimStage.CLAIMED: "claimed", ClaimStage.QUEUED: "queued", ClaimStage.RUNNING: "running"}
    return f"job {max(1, lane.jobs)} {words[lane.stage]}"
