"""Turns of a replay as a view is told of them, made without a pool."""

from __future__ import annotations

from typing import Any

from ebbtide.turn import Swapped, Turn
from ebbtide_cli.live.lane import Seen
from ebbtide_cli.replay.drive import Step
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.decide import Action, Reason
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store.results import ClaimStage
from tests.cli.turns import record, report, user


def step(
    number: int = 1, tokens: int = 100, *, unfittable: bool = False, stall: float = 0.0, **more: Any
) -> Step:
    """A turn that sends `tokens`, or what the report says."""
    given = {"turn": number, "projected": tokens, "sent": tokens, **more}
    return Step(number, 0, (), Turn([], [], report(**given)), unfittable, stall)


def ask(number: int, tokens: int, **more: Any) -> Step:
    """A turn that asks for a summary."""
    return step(number, tokens, action=Action.ENQUEUE, reason=Reason.OVER_SOFT, **more)


def swap(
    number: int,
    came: int,
    sent: int,
    version: int = 1,
    *,
    removed: int = 10,
    count: int = 10,
    summary_tokens: int = 5,
    **more: Any,
) -> Step:
    """A turn that puts a version into the buffer: it stands for the first `count` messages of the session."""
    position = Position(count, b"0" * 16)
    made = record(count, [(0, count)]).model_copy(
        update={"version": version, "summary_tokens": summary_tokens}
    )
    swapped = Swapped(version, position, user("summary"), (), removed, made)
    told = report(
        turn=number,
        action=Action.SWAP,
        reason=Reason.RECORD_READY,
        projected=came,
        sent=sent,
        version=version,
        **more,
    )
    return Step(number, 0, (), Turn([], [], told, swapped), False, 0.0)


def seen(jobs: int = 0, newest: int = 0, stage: ClaimStage | None = None, count: int = 10) -> Seen:
    """What a look finds: so many jobs, records up to the newest, each for the first `count` messages."""
    position = Position(count, b"0" * 16)
    headers = (
        RecordHeader(version=n, generation=0, position=position, body="0" * 32) for n in range(1, newest + 1)
    )
    return Seen(jobs, tuple(headers), newest, stage)
