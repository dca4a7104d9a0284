"""A worker's health over HTTP, for probes: `GET /live` and `GET /ready`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from threading import Thread
from typing import ClassVar, Final

from ebbtide_core.errors import EbbtideError
from ebbtide_worker.health import Health

Question = Callable[[], tuple[str, ...]]

_PATIENCE: Final = 5.0
"""Seconds that a client may take to send its request."""


class HealthServer:
    """Answers 200 when all is well and 503 when not, with a JSON document that says what is wrong.

    Served by threads of its own, so that it answers also when the event loop hangs. Raises EbbtideError when
    the address can't be had.
    """

    def __init__(self, health: Health, host: str, port: int) -> None:
        self._http = _bound(host, port, {"/live": health.dead, "/ready": health.unready})
        self._thread = Thread(target=self._http.serve_forever, name="ebbtide-health", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._http.server_address[1])

    def close(self) -> None:
        """End it."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    questions: ClassVar[Mapping[str, Question]] = {}
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Answer one of the questions."""
        question = self.questions.get(self.path.partition("?")[0])
        if question is None:
            self.send_error(HTTPStatus.NOT_FOUND, explain=f"ask one of {', '.join(self.questions)}")
            return
        problems = question()
        body = json.dumps({"ok": not problems, "problems": problems}).encode()
        self.send_response(HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: probes come every few seconds."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def _bound(host: str, port: int, questions: Mapping[str, Question]) -> ThreadingHTTPServer:
    handler = type("Handler", (_Handler,), {"questions": questions})
    family = AF_INET6 if ":" in host else AF_INET
    try:
        server: ThreadingHTTPServer = type("Server", (_Server,), {"address_family": family})(
            (host, port), handler
        )
    except OSError as error:
        raise EbbtideError(
            f"health can't be served at {host}:{port} ({error.strerror}): give another --health-port"
        ) from None
    return server
