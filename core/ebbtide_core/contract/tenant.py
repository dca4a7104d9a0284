"""What a tenant may have and how it is served: declared in a file, kept in the store, read now and then."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field

from ebbtide_core.contract.base import Contract
from ebbtide_core.economy.rates import Rates
from ebbtide_core.policy import Mode

REFRESH_SECONDS: Final = 10.0
"""How often hosts and workers read a tenant's policy."""

MAX_WEIGHT: Final = 100
MAX_HOPS: Final = 8


class Hop(Contract):
    """One summariser of a route: what is asked, where, with whose credentials, at which price.

    Empty fields mean the worker's own settings. `credentials` is a reference, never a secret: `env:NAME`,
    `file:/path` or `call:name`. `window` is in tokens; `rates` are looked up by the model's name when not
    given.
    """

    summariser: str = Field(default="", max_length=64)
    model: str = Field(default="", max_length=256)
    base_url: str = Field(default="", max_length=1_024)
    credentials: str = Field(default="", max_length=1_024)
    window: int | None = Field(default=None, gt=0)
    rates: Rates | None = None


class TenantPolicy(Contract):
    """A tenant's limits, route and switches; None means no limit, or the default of `Policy`.

    `concurrency`: attempts that run side by side in the whole fleet. `weight`: jobs taken in a row when it is
    the tenant's turn. `max_pending`: jobs that wait. `tokens_a_day`, `spend_a_day` (US dollars): what
    summarisers may be paid from midnight to midnight UTC. `route`: summarisers in the order in which they are
    tried, empty for the worker's own.
    """

    mode: Mode = Mode.ON
    concurrency: int | None = Field(default=None, ge=1)
    weight: int = Field(default=1, ge=1, le=MAX_WEIGHT)
    max_pending: int | None = Field(default=None, ge=0)
    tokens_a_day: int | None = Field(default=None, ge=0)
    spend_a_day: float | None = Field(default=None, ge=0)
    breaker_failures: int | None = Field(default=None, ge=1)
    breaker_cooldown: int | None = Field(default=None, ge=1)
    breaker_cooldown_seconds: float | None = Field(default=None, gt=0)
    route: tuple[Hop, ...] = Field(default=(), max_length=MAX_HOPS)


class Refusal(StrEnum):
    """Why a job was not admitted to the ready index. Nothing counts against its session."""

    MAX_PENDING = "max_pending"
    TOKENS_A_DAY = "tokens_a_day"
    SPEND_A_DAY = "spend_a_day"
    OFF = "off"


class BlockReason(StrEnum):
    """Why no summary can be made for a tenant at present; the host does not wait for one."""

    AUTH = "auth"
    SPEND_LIMIT = "spend_limit"
    NOT_FOUND = "not_found"
    PROVIDER_DOWN = "provider_down"


class TenantStanding(Contract):
    """What hosts read of a tenant: its policy, and for how many more seconds which block stands, if any."""

    policy: TenantPolicy = TenantPolicy()
    block: BlockReason | None = None
    block_seconds: float = 0.0
