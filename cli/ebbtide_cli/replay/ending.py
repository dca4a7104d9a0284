"""How a session's jobs ended: waits for a running one, then reads versions and tally from the state."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ebbtide_cli.replay.drive import NEUTRAL_MODEL
from ebbtide_core.breaker import Outcome
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import PublishStatus, SessionView

log = logging.getLogger("ebbtide.replay")

AWAITED_SECONDS: Final = 10.0
"""How long a job still running after the last turn is awaited."""

_POLL_SECONDS: Final = 0.05
_WATCHER: Final = "ebbtide-replay-watch"
_REFUSED: Final = frozenset(
    f"{Outcome.NEUTRAL.value}:{status.value}"
    for status in (PublishStatus.SUPERSEDED, PublishStatus.FENCED, PublishStatus.DUPLICATE)
)


@dataclass(frozen=True, slots=True)
class Ending:
    """What the state says of a session's jobs; `rejected`: publications refused, summaries failed, by
    reason."""

    jobs_enqueued: int = 0
    versions_published: int = 0
    rejected: dict[str, int] = field(default_factory=dict)


class Watcher:
    """Looks at sessions from outside, without counting turns for them more than once. `stop` ends waiting."""

    def __init__(self, store: SyncStore, policy: Policy, stop: threading.Event) -> None:
        self._store = store
        self._policy = policy
        self._stop = stop

    def look(self, owner: Owner) -> SessionView:
        """Return the session's state. Raises StoreUnavailable."""
        return self._store.run(
            session_calls.turn(
                owner,
                host=_WATCHER,
                seq=1,
                fresh_incarnation=secrets.token_hex(8),
                model=NEUTRAL_MODEL,
                state_ttl=self._policy.state_ttl,
                breaker_cooldown=self._policy.breaker_cooldown,
                breaker_cooldown_seconds=self._policy.breaker_cooldown_seconds,
            )
        )

    def check(self, tenant: str) -> None:
        """Raise StoreUnavailable unless the state store answers."""
        self.tally(Owner.of(tenant, tenant))

    def tally(self, owner: Owner) -> dict[str, int]:
        """Return how often what happened to the session's jobs. Raises StoreUnavailable."""
        return self._store.run(tally_calls.tally(owner))

    def ending(self, owner: Owner, flush: Callable[[float], object]) -> Ending:
        """Wait for what `flush` has to hand over and for a job under way, then tell how the jobs ended."""
        deadline = time.monotonic() + AWAITED_SECONDS
        flush(AWAITED_SECONDS)
        try:
            view = self.look(owner)
            while view.claim is not None and time.monotonic() < deadline:
                if self._stop.wait(_POLL_SECONDS):
                    break
                view = self.look(owner)
            counts = self.tally(owner)
        except StoreUnavailable as error:
            log.warning("the state could not be read at a session's end: %s", error)
            return Ending()
        return Ending(counts.get(tally_calls.ENQUEUED, 0), view.newest.number, _rejected(counts))


def _rejected(counts: dict[str, int]) -> dict[str, int]:
    failure = f"{Outcome.FAILURE.value}:"
    return {
        event.partition(":")[2]: times
        for event, times in counts.items()
        if event.startswith(failure) or event in _REFUSED
    }
