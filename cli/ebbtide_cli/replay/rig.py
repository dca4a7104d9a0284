"""What a replay holds while it drives a pool: the host's pool, a watcher, and the wish to stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ebbtide.pool import Pool
from ebbtide_cli.replay.ending import Watcher
from ebbtide_core.policy import Policy
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import Codec

STORE_SECONDS: Final = 5.0
"""How long the watcher waits for the store."""


@dataclass(frozen=True, slots=True)
class Rig:
    """A host's pool, a watcher beside it, and the event that ends all waiting."""

    pool: Pool
    watcher: Watcher
    stop: threading.Event


@contextmanager
def rigged(state: str, broker: str, policy: Policy, codec: Codec) -> Iterator[Rig]:
    """Yield a rig on a pool at these URLs; its connections are closed in the end."""
    stop = threading.Event()
    store = SyncStore(state, timeout=STORE_SECONDS)
    try:
        with Pool(broker, state, policy=policy, codec=codec) as pool:
            try:
                yield Rig(pool, Watcher(store, policy, stop), stop)
            finally:
                stop.set()
    finally:
        store.close()
