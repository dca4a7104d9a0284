"""The state store, as the commands for people ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ebbtide_cli.settings import Settings
from ebbtide_core.store.client import SyncStore

STORE_SECONDS: Final = 5.0
"""How long a command waits for one answer of the store."""


@contextmanager
def opened_store(settings: Settings) -> Iterator[SyncStore]:
    """Yield a client of the state store that the settings name; its connections are closed in the end."""
    url, _ = settings.urls
    store = SyncStore(url, timeout=STORE_SECONDS)
    try:
        yield store
    finally:
        store.close()
