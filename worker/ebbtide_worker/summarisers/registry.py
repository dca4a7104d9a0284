"""Summarisers by name; one instance of each serves a whole process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from ebbtide_core.contract.tenant import Hop
from ebbtide_core.errors import EbbtideError
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.summarisers.base import Summariser
from ebbtide_worker.summarisers.extractive import Extractive

Factory = Callable[[WorkerConfig], Summariser]

_MAX_HOPS: Final = 1_000
"""Hops of all tenants whose summarisers are kept."""


@runtime_checkable
class Routable(Protocol):
    """A summariser of which a hop may say model, endpoint and credentials; any other ignores them."""

    def at(self, hop: Hop) -> Summariser:
        """Return the summariser of a hop, with the same connections."""


class UnknownSummariser(EbbtideError):
    """A policy names a summariser that this worker does not have: change the policy, or register it."""


def _extractive(_: WorkerConfig) -> Summariser:
    return Extractive()


def _anthropic(config: WorkerConfig) -> Summariser:
    from ebbtide_worker.summarisers.anthropic import Anthropic

    return Anthropic.of(config)


_FACTORIES: Final[dict[str, Factory]] = {"extractive": _extractive, "anthropic": _anthropic}


def register(name: str, factory: Factory) -> None:
    """Make a summariser known under a name, in place of one of that name."""
    _FACTORIES[name] = factory


def known() -> tuple[str, ...]:
    """Return the names of all summarisers, sorted."""
    return tuple(sorted(_FACTORIES))


class Summarisers:
    """The summarisers of one process, each made when it is first asked for."""

    def __init__(self, config: WorkerConfig, factories: Mapping[str, Factory] = _FACTORIES) -> None:
        self._config = config
        self._factories = factories
        self._made: dict[str, Summariser] = {}
        self._routed = lru_cache(_MAX_HOPS)(self._of_hop)

    def get(self, name: str = "") -> Summariser:
        """Return the summariser of that name, "" for the worker's own. Raises UnknownSummariser."""
        name = name or self._config.summariser
        if name not in self._made:
            if name not in self._factories:
                known_here = ", ".join(sorted(self._factories))
                raise UnknownSummariser(f"no summariser {name!r}; known are {known_here}")
            self._made[name] = self._factories[name](self._config)
        return self._made[name]

    def at(self, hop: Hop) -> Summariser:
        """Return the summariser of a hop: the same one as long as it is kept. Raises UnknownSummariser."""
        return self._routed(hop)

    def _of_hop(self, hop: Hop) -> Summariser:
        summariser = self.get(hop.summariser)
        return summariser.at(hop) if isinstance(summariser, Routable) else summariser

    async def close(self) -> None:
        """Close the connections of all."""
        self._routed.cache_clear()
        while self._made:
            _, summariser = self._made.popitem()
            await summariser.close()
