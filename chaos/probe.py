"""Looks at the store from outside while the run goes on, past the proxies: which versions there are, and when
they came.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Self

import redis

from chaos.evidence import Sighting
from ebbtide_core import names
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import SessionView

PERIOD: Final = 0.2
TIMEOUT: Final = 1.0
FOREVER: Final = -1


class Probe:
    """`with Probe(url, owners) as probe:` looks every fifth of a second. `sightings` grows meanwhile."""

    def __init__(self, url: str, owners: Sequence[Owner]) -> None:
        self.sightings: list[Sighting] = []
        self._url = url
        self._owners = owners
        self._store = SyncStore(url, timeout=TIMEOUT)
        self._known: set[tuple[str, str, int, str]] = set()
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-probe", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._store.close()

    def stop(self) -> None:
        """Look for the last time, and no more."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            last = self._stop.wait(PERIOD)
            with suppress(StoreUnavailable):  # a store that is away is what this program is about
                self._look()
            if last:
                return

    def _look(self) -> None:
        began = time.monotonic()
        states = self._store.run_all([session_calls.look(owner) for owner in self._owners])
        since, self._last, now = self._last, began, time.monotonic()
        for owner, state in zip(self._owners, states, strict=True):
            if state is not None:
                self._take(owner.session_id, state.view, since, now)

    def _take(self, session: str, view: SessionView, since: float, now: float) -> None:
        for header in view.headers:
            found = (session, view.incarnation, header.version, header.body)
            if found not in self._known:
                self._known.add(found)
                self.sightings.append(Sighting(*found, since, now))

    def idle(self) -> bool:
        """Say whether no job waits and none runs; not so while the store is away."""
        try:
            depth = self._store.run(fleet_calls.depth())
        except StoreUnavailable:
            return False
        return depth.ready == depth.running == 0


def untidy(url: str, tenants: Sequence[str]) -> list[str]:
    """Return the keys of a state store that never run out, but for those that never have to."""
    meant = {names.fleet("limits"), names.fleet("default"), *map(names.tenant_policy, tenants)}
    client: Any = redis.Redis.from_url(url, decode_responses=True)
    with client:
        lasting = [key for key in client.scan_iter() if client.pttl(key) == FOREVER]
    return sorted(set(lasting) - meant)
