"""A job's route: the hops that its tenant's policy names, with what each of them asks and costs here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ebbtide_core.contract.record import Usage
from ebbtide_core.contract.tenant import Hop, TenantPolicy
from ebbtide_core.economy.bill import MILLION
from ebbtide_core.economy.rates import Rates, rates_for
from ebbtide_core.jsonio import digest
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.retry import Following
from ebbtide_worker.summarisers.base import Summariser
from ebbtide_worker.summarisers.registry import Summarisers

FREE: Final = Rates(0.0, 0.0, 0.0, 0.0)
"""What a summariser without a model costs."""


@dataclass(frozen=True, slots=True)
class RouteHop:
    """A hop as this worker serves it. `account` is shared by all hops that one limit of the provider meets,
    "" when there is no provider. `window` is in tokens.
    """

    summariser: Summariser
    window: int
    rates: Rates
    account: str

    def holds(self, size: int) -> bool:
        """Say whether one call can show so many tokens: half of the window is for the answer, and for what
        estimates miss.
        """
        return size <= self.window // 2


@dataclass(frozen=True, slots=True)
class Route:
    """The hops of a job in the order in which they are tried; there is at least one."""

    hops: tuple[RouteHop, ...]

    @property
    def first(self) -> RouteHop:
        """The hop that is asked as long as all is well."""
        return self.hops[0]

    def following(self, at: int, size: int) -> Following:
        """Return what there is after a hop for a call of so many tokens."""
        here = self.hops[at]
        later = [(n, hop) for n, hop in enumerate(self.hops) if n > at and hop.holds(size)]
        return Following(
            any=next((n for n, _ in later), None),
            other_account=next((n for n, hop in later if hop.account != here.account), None),
            wider=next((n for n, hop in later if hop.window > here.window), None),
        )


def route_of(
    policy: TenantPolicy, wanted: str, tenant: str, summarisers: Summarisers, config: WorkerConfig
) -> Route:
    """Return the route of a tenant's job whose own policy wants a summariser ("": none in particular).

    A wanted summariser is served by the tenant's hops of it; where there is none, as where the tenant has no
    route, by the worker's own settings. Raises UnknownSummariser.
    """
    named = [hop for hop in policy.route if not wanted or _name(hop, config) == wanted]
    hops = named or [Hop(summariser=wanted)]
    return Route(tuple(_served(hop, tenant, summarisers, config) for hop in hops))


def _name(hop: Hop, config: WorkerConfig) -> str:
    return hop.summariser or config.summariser


def _served(hop: Hop, tenant: str, summarisers: Summarisers, config: WorkerConfig) -> RouteHop:
    summariser = summarisers.at(hop)
    return RouteHop(
        summariser=summariser,
        window=hop.window or summariser.window,
        rates=hop.rates or (rates_for(summariser.model) if summariser.model else FREE),
        account=account_id(hop, config, tenant) if summariser.model else "",
    )


def account_id(hop: Hop, config: WorkerConfig, tenant: str) -> str:
    """Return the name of the provider account that a hop uses: summariser, and a digest of endpoint and
    reference.

    No secret goes into it. What `call:name` leads to is each tenant's own, so it is an account for each.
    """
    name = _name(hop, config)
    reference = hop.credentials or f"env:{config.key_env}"
    whose = tenant if reference.startswith("call:") else ""
    parts = (name, hop.base_url or config.base_url, reference, whose)
    return f"{name}-{digest(b'ebbtide/account/1', *(part.encode() for part in parts)).hex()[:16]}"


def price(usage: Usage, rates: Rates) -> float:
    """Return what one call costs in US dollars."""
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    by = rates.of(prompt)
    return (
        usage.input_tokens * by.input
        + usage.cache_read_tokens * by.cache_read
        + usage.cache_write_tokens * by.cache_write
        + usage.output_tokens * by.output
    ) / MILLION
