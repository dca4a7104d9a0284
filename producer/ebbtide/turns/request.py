"""What a host asks of one turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ebbtide_core.budget.measure import Parts
from ebbtide_core.contract.tenant import TenantStanding
from ebbtide_core.dialects.base import Message
from ebbtide_core.policy import Limits, Mode


@dataclass(frozen=True, slots=True)
class ByHand:
    """A compaction asked for whatever the size: `instructions` for the summariser, `timeout` in seconds."""

    instructions: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Request:
    """What the host is about to send, sizes in tokens; `fresh` is a random name should the state be created
    now, `tenant` what is known of the session's tenant."""

    messages: Sequence[Message]
    parts: Parts
    limits: Limits
    mode: Mode
    fresh: str
    store_open: bool
    by_hand: ByHand | None = None
    tenant: TenantStanding = field(default_factory=TenantStanding)
