"""Looks at sessions from outside while a replay runs, from the threads of the sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from ebbtide_cli.live.lane import Seen
from ebbtide_cli.replay.ending import Watcher
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store.tally_calls import ENQUEUED

BLIND_SECONDS: Final = 5.0
"""A store that did not answer is left alone for so long."""


class Lookout:
    """Reads a session's jobs and versions in two round trips. `clock` counts seconds.

    The first look at a session counts as one turn of it, as the look at its end does otherwise; no breaker
    can be open before.
    """

    def __init__(self, watcher: Watcher, tenant: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._watcher = watcher
        self._tenant = tenant
        self._clock = clock
        self._blind_until = -BLIND_SECONDS

    def look(self, session: str) -> Seen | None:
        """Return what the state holds of the session, None when it can't be read now."""
        if self._clock() < self._blind_until:
            return None
        owner = Owner.of(self._tenant, session)
        try:
            jobs = self._watcher.tally(owner).get(ENQUEUED, 0)
            view = self._watcher.look(owner)
        except StoreUnavailable:
            self._blind_until = self._clock() + BLIND_SECONDS
            return None
        return Seen(jobs, view.headers, view.newest.number, view.claim.stage if view.claim else None)
