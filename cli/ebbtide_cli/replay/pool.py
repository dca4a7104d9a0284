"""The pool that a replay drives: the one at the given URLs, or an embedded one for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.local_pool import LocalPool
from ebbtide_cli.settings import Settings
from ebbtide_cli.worker import chosen_summariser


@contextmanager
def urls_of_pool(settings: Settings, console: Console) -> Iterator[tuple[str, str]]:
    """Yield the URLs of state and broker. Raises PoolFailed, EmbeddedServerError, BadParameter."""
    if settings.given_urls:
        yield settings.given_urls
        return
    chosen_summariser(settings)
    with console.status("Starting the embedded pool"):
        pool = LocalPool(settings, EmbeddedServer(), quiet=True)
        pool.start()
    try:
        yield pool.state, pool.broker
    finally:
        pool.close()
