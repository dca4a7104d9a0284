"""A server that the fleet uses, behind a proxy: the state store or the broker."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import ExitStack
from typing import Self
from urllib.parse import urlsplit

from chaos.proxy import LOCAL, Proxy
from ebbtide_cli.embedded import EmbeddedServer


class Backend:
    """`with Backend() as backend:` runs a server that keeps its data over restarts.

    `url` is what the fleet is given; `direct` passes the proxy by. Trap: the server dies with the thread that
    starts it.
    """

    def __init__(self) -> None:
        self._server = EmbeddedServer(tcp=True, appendonly=True)
        self._open = ExitStack()
        self._frozen = False
        self._proxy: Proxy | None = None

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(self._server)
            opened.callback(self.thaw)
            self._proxy = opened.enter_context(Proxy(urlsplit(self._server.url).port or 0))
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def proxy(self) -> Proxy:
        """What stands before the server."""
        assert self._proxy is not None
        return self._proxy

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"redis://{LOCAL}:{self.proxy.port}/0"

    @property
    def direct(self) -> str:
        """The address of the server itself."""
        return self._server.url

    def freeze(self) -> None:
        """Stop the server's process where it is: connections stay open and nothing answers."""
        os.kill(self._server.pid, signal.SIGSTOP)
        self._frozen = True

    def thaw(self) -> None:
        """Let it go on."""
        if self._frozen:
            os.kill(self._server.pid, signal.SIGCONT)
            self._frozen = False

    def stop(self) -> None:
        """Stop the server in an orderly way."""
        self._server.stop()

    def kill(self) -> None:
        """End the server as a crash would."""
        self._server.kill()

    def start(self) -> None:
        """Start it again, with the data that it had."""
        self._server.start()

    def start_empty(self) -> None:
        """Start it again without any data."""
        shutil.rmtree(self._server.data_dir / "appendonlydir", ignore_errors=True)
        self._server.start()
