"""One connection of the stand-in: routes, waiting, sending."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import ValidationError

from tests.standin.behaviour import Settings
from tests.standin.errors import Error, invalid
from tests.standin.log import BROKEN, CLIENT_GONE, Entry
from tests.standin.reply import Reply, Way, encoded, reply

if TYPE_CHECKING:
    from tests.standin.server import StandIn

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class Handler(BaseHTTPRequestHandler):
    """Serves the API under `/v1/` and the control endpoints beside it."""

    server: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: `GET /requests` tells."""

    def do_GET(self) -> None:
        """`/requests`: what was asked. `/health`: that it serves."""
        url = urlsplit(self.path)
        if url.path == "/requests":
            asked = {name: values[-1] for name, values in parse_qs(url.query).items()}
            count, settled = int(asked.get("count", 0)), asked.get("settled", "0") == "1"
            wait = float(asked.get("wait", 0))
            self._send(200, self.server.log.read(count=count, settled=settled, wait=wait))
        elif url.path == "/health":
            self._send(200, {"status": "ok"})
        else:
            self._fail(Error(404, f"no {url.path} here"))

    def do_POST(self) -> None:
        """`/control`, and what the API offers: messages and token counts."""
        size = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(size)
        path = urlsplit(self.path).path
        if path == "/control":
            self._control(_parsed(raw))
        else:
            self._api(path, raw)

    def _control(self, body: Any) -> None:
        try:
            settings = Settings.model_validate(body)
        except ValidationError as error:
            self._fail(invalid(str(error)))
            return
        self.server.script.apply(settings)
        if settings.reset:
            self.server.log.clear()
        self._send(200, {"queued": self.server.script.waiting()})

    def _api(self, path: str, raw: bytes) -> None:
        log, script = self.server.log, self.server.script
        key = self.headers.get("x-api-key") or self.headers.get("authorization") or ""
        named = self.headers.get("anthropic-beta", "").split(",")
        betas = [name for part in named if (name := part.strip())]
        body = _parsed(raw) if len(raw) <= script.max_bytes else ""
        entry = log.start(path, blake2b(key.encode(), digest_size=4).hexdigest(), body, betas)
        version = self.headers.get("anthropic-version", "")
        try:
            found = reply(self.server, entry, key=key, version=version, size=len(raw))
        except Exception:
            log.end(entry, BROKEN)
            raise
        entry.body = body if script.bodies else ""
        self._answer(entry, found)

    def _answer(self, entry: Entry, found: Reply) -> None:
        """Note the outcome, then send: a client that has its answer finds it in the log."""
        log = self.server.log
        if not self._stays(found.wait):
            self.close_connection = True
            log.end(entry, CLIENT_GONE)
            return
        if found.way is Way.NONE:
            self._hang_up()
        log.end(entry, found.outcome, found.status, found.usage)
        if found.way is not Way.NONE:
            self._send(found.status, found.body, found.headers, half=found.way is Way.HALF)

    def _fail(self, error: Error) -> None:
        self._send(error.status, error.body("req_standin_none"))

    def _send(
        self, status: int, body: Any, headers: dict[str, str] | None = None, *, half: bool = False
    ) -> None:
        data, kind = encoded(body)
        self.send_response(status)
        told = {"content-type": kind, "content-length": str(len(data)), **(headers or {})}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self.close_connection = True

    def _stays(self, seconds: float) -> bool:
        """Wait that long; return False as soon as the client has gone or the server stops."""
        until = time.monotonic() + seconds
        poller = select.poll()
        for awaited in (self.connection, self.server.stopped):
            poller.register(awaited, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(1_000 * left):
                if descriptor == self.server.stopped.fileno() or self._gone():
                    return False
                poller.unregister(self.connection)
        return True

    def _gone(self) -> bool:
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    def _hang_up(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.close_connection = True


def _parsed(raw: bytes) -> Any:
    """Return the JSON value; what is none comes back as text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode(errors="replace")
