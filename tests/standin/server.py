"""The stand-in's HTTP server."""

from __future__ import annotations

import json
import socket
import socketserver
import sys
import threading
from hashlib import blake2b
from http.server import ThreadingHTTPServer
from typing import Any, Self

from tests.standin.behaviour import Script
from tests.standin.compaction import Seal
from tests.standin.control import Control
from tests.standin.handler import Handler
from tests.standin.log import Log
from tests.standin.prompt import Prompt


class StandIn(ThreadingHTTPServer):
    """The server in threads of this process; a client's `base_url` is its `url`, inside `with`.

    Listens on the loopback only unless another `host` is given. `script` decides, `log` remembers; `control`
    does both over HTTP. `seal` signs native compactions. `stopped` is readable once the server stops.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__((host, port), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.script = Script()
        self.log = Log()
        self.seal = Seal()
        self.control = Control(self.url)
        self.stopped, self._stop = socket.socketpair()
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._prefixes: set[bytes] = set()
        self._accepting = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def server_bind(self) -> None:
        """Bind without the look-up of the host's name, which may be slow."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close all connections, answered or not, and wait for their threads."""
        self._stop.close()
        self.shutdown()
        self.server_close()
        with self._lock:
            open_now = dict(self._connections)
        for connection in open_now.values():
            _shut(connection)
        for thread in (self._accepting, *open_now):
            thread.join(timeout=10)
        self.stopped.close()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, known to `stop` while it lasts."""
        with self._lock:
            self._connections[threading.current_thread()] = request
        try:
            if self._stop.fileno() >= 0:
                super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may leave at any time; everything else is a fault of the stand-in and is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def warm(self, prompt: Prompt) -> bool:
        """Say whether the prompt's prefix was seen before; from now on it was."""
        if not prompt.prefix:
            return False
        name = blake2b(json.dumps([prompt.model, prompt.prefix]).encode()).digest()
        with self._lock:
            known = name in self._prefixes
            self._prefixes.add(name)
        return known


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
