"""When a swap pays: early costs a rebuild of the cache, late costs reading what the swap would remove."""

from __future__ import annotations

from dataclasses import dataclass

from ebbtide_core.economy.rates import Rates


@dataclass(frozen=True, slots=True)
class Chance:
    """A record is ready at a turn border; sizes in the model's tokens.

    `projected`: the request as it would go out without the swap. `after`: the same with the record swapped
    in, an upper estimate. `unchanged`: what the swap neither removes nor has written anew: system and tools,
    which the cache keeps, and what is no prompt, if the sizes hold the answer too. `idle`: seconds since the
    last request, None when unknown. `turns`: how many this host has seen since the last swap, or since it
    began.
    """

    projected: int
    after: int
    unchanged: int
    window: int
    idle: float | None
    turns: int


def swap_now(chance: Chance, rates: Rates, swap_ratio: float) -> bool:
    """Say whether to swap now: when the cache is cold anyway, when it pays, and always from `swap_ratio` on.

    It pays when the rebuild is less than what half as many turns as there were since the last swap will save.
    A request that grows evenly and is cut back every n turns costs least when reading the growth of n turns
    has cost as much as a rebuild, saving · n / 2 = rebuild (the economic order quantity). Who waits for that
    has also overpaid at most once what the swap costs, should the session end right after it. Measured
    against other rules in docs/cost.md. A cache of which nothing is known counts as warm.
    """
    if chance.projected >= swap_ratio * chance.window:
        return True
    if chance.after >= chance.projected:
        return False
    if chance.idle is not None and chance.idle > rates.cache_seconds:
        return True
    return saving(chance, rates) * chance.turns / 2 > rebuild(chance, rates)


def rested(since: int | None, min_turns: int) -> bool:
    """Say whether the last swap is long enough ago for another one below hard: `since` turns, None: there was
    none."""
    return since is None or since >= min_turns


def saving(chance: Chance, rates: Rates) -> float:
    """Return what each turn after the swap costs less, in millionths of a dollar."""
    without, swapped = rates.of(chance.projected), rates.of(chance.after)
    return chance.projected * without.cache_read - chance.after * swapped.cache_read


def rebuild(chance: Chance, rates: Rates) -> float:
    """Return what the swap costs once, in millionths of a dollar: what is written anew instead of read."""
    swapped = rates.of(chance.after)
    rewritten = max(0, chance.after - chance.unchanged)
    return rewritten * (swapped.cache_write - swapped.cache_read)
