"""What `prepare` gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.contract.tenant import BlockReason, Refusal
from ebbtide_core.decide import Action, Reason
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.chain import Position
from ebbtide_core.lineage.issues import Issue
from ebbtide_core.views.view import Omitted, Rung


@dataclass(frozen=True, slots=True)
class Swapped:
    """A record that this turn put into the buffer, for hosts that store the swap as an event.

    `carried` are the indices, in `turn.buffer`, of messages that outlived the position. `removed` is the
    number of messages that the summary message replaces. `again`: it is the last swap, put into a raw history
    once more.
    """

    version: int
    position: Position
    summary_message: Message
    carried: tuple[int, ...]
    removed: int
    record: SummaryRecord = field(repr=False)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What a turn did and why; sizes in tokens of the model, times in seconds.

    `projected` is the request as it came, `sent` the request as it goes out; `exact` is False while a cheap
    bound sufficed. `claim` is the last answer to a claim that the background work reported. `refused` says
    why a job was not admitted since the last turn, or a moment ago, so that none is asked for; `block`, why
    no summary can be made for the tenant at present. `faults` are what the background work or the store
    failed at since the last turn. `issues` are oddities of the messages, let through.
    `superseded` are the tool results left out because newer ones make them worthless, `thinking` is how many
    thinking blocks were left out because the provider would refuse them behind a rewritten prefix.
    `notice` is a sentence for people, "" when there is nothing to tell.
    """

    turn: int
    action: Action
    reason: Reason
    projected: int
    sent: int
    exact: bool
    context_window: int
    soft: int
    hard: int
    degraded: bool = False
    rung: Rung | None = None
    omitted: tuple[Omitted, ...] = ()
    superseded: tuple[Omitted, ...] = ()
    thinking: int = 0
    version: int = 0
    enough: bool = True
    claim: str = ""
    refused: Refusal | None = None
    block: BlockReason | None = None
    faults: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    waited: float = 0.0
    elapsed: float = 0.0
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One prepared turn: send `messages`, keep `buffer`, read `report`.

    `buffer` differs from what was passed only by a swap; `messages` may leave things out, which the report
    declares. `cache_hint` is the index in `messages` of the one on whose last block a cache mark belongs: the
    next request begins with all up to it. None when there is none.
    """

    messages: list[Any]
    buffer: list[Any]
    report: Report
    swap: Swapped | None = None
    cache_hint: int | None = None
