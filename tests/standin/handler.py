"""One connection of the stand-in: routes, waiting, responses."""

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

from tests.standin import answers
from tests.standin.behaviour import Behaviour, Kind, Settings
from tests.standin.log import CLIENT_GONE, Entry
from tests.standin.prompt import Prompt, problem

if TYPE_CHECKING:
    from tests.standin.server import StandIn

_LOOK_EVERY: Final = 0.05
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class Handler(BaseHTTPRequestHandler):
    """Serves the API under `/v1/` and the control endpoints beside it."""

    server: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: `GET /requests` tells."""

    def do_GET(self) -> None:
        """`/requests`: what was asked."""
        url = urlsplit(self.path)
        if url.path != "/requests":
            self._fail(404, f"no {url.path} here", "req_standin_none")
            return
        asked = {name: values[-1] for name, values in parse_qs(url.query).items()}
        count, settled = int(asked.get("count", 0)), asked.get("settled", "0") == "1"
        self._send(200, self.server.log.read(count=count, settled=settled, wait=float(asked.get("wait", 0))))

    def do_POST(self) -> None:
        """`/control`, and what the API offers: messages and token counts."""
        body = _parsed(self.rfile.read(int(self.headers.get("content-length", 0))))
        path = urlsplit(self.path).path
        if path == "/control":
            self._control(body)
            return
        key = self.headers.get("x-api-key") or self.headers.get("authorization") or ""
        version = self.headers.get("anthropic-version", "")
        entry = self.server.log.start(path, blake2b(key.encode(), digest_size=4).hexdigest(), body)
        counting = path == "/v1/messages/count_tokens"
        if not counting and path != "/v1/messages":
            self._reject(entry, 404, f"Not found: {path}")
        elif wrong := problem(key, version, body, counting=counting):
            self._reject(entry, *wrong)
        elif counting:
            self._end(entry, "counted", 200, {"input_tokens": Prompt.of(body).tokens})
        else:
            self._message(entry, Prompt.of(body))

    def _control(self, body: Any) -> None:
        try:
            settings = Settings.model_validate(body)
        except ValidationError as error:
            self._fail(400, str(error), "req_standin_control")
            return
        self.server.script.apply(settings)
        if settings.reset:
            self.server.log.clear()
        self._send(200, {"queued": self.server.script.waiting()})

    def _message(self, entry: Entry, prompt: Prompt) -> None:
        entry.ids = list(prompt.ids)
        window = self.server.script.window
        if prompt.tokens > window:
            self._reject(entry, 400, f"prompt is too long: {prompt.tokens} tokens > {window} maximum")
            return
        behaviour = self.server.script.next(prompt.text)
        wait = behaviour.seconds if behaviour.kind is Kind.HANG else behaviour.latency or 0.0
        if not self._stays(wait):
            self.close_connection = True
            self.server.log.end(entry, CLIENT_GONE)
        elif behaviour.kind in (Kind.HANG, Kind.DROP):
            self._hang_up()
            self.server.log.end(entry, behaviour.kind)
        else:
            self._respond(entry, prompt, behaviour)

    def _respond(self, entry: Entry, prompt: Prompt, behaviour: Behaviour) -> None:
        kind = behaviour.kind
        if kind is Kind.STATUS:
            status = behaviour.status or 500
            self.server.log.end(entry, kind, status)
            self._fail(status, "made to fail", _request_id(entry), behaviour)
        elif kind is Kind.HTML:
            status = behaviour.status or 200
            self.server.log.end(entry, kind, status)
            self._write(status, answers.PAGE.encode(), "text/html; charset=utf-8", {})
        else:
            body = answers.message(prompt, behaviour, entry.number, self.server.warm(prompt))
            self._end(entry, kind, 200, body)

    def _end(self, entry: Entry, outcome: str, status: int, body: dict[str, Any]) -> None:
        """Note the outcome, then send: a client that has its answer finds it in the log."""
        self.server.log.end(entry, outcome, status, body.get("usage"))
        self._send(status, body, {"request-id": _request_id(entry)}, cut=outcome == Kind.CUT)

    def _reject(self, entry: Entry, status: int, message: str) -> None:
        self.server.log.end(entry, "rejected", status)
        self._fail(status, message, _request_id(entry))

    def _fail(self, status: int, message: str, request_id: str, behaviour: Behaviour | None = None) -> None:
        code, after = (behaviour.error_code, behaviour.retry_after) if behaviour else ("", None)
        headers = {"request-id": request_id} | ({} if after is None else {"retry-after": f"{after:g}"})
        self._send(status, answers.error(status, message, request_id, code), headers)

    def _send(
        self, status: int, body: Any, headers: dict[str, str] | None = None, *, cut: bool = False
    ) -> None:
        data = json.dumps(body, ensure_ascii=False).encode(errors="replace")
        self._write(status, data, "application/json", headers or {}, cut=cut)

    def _write(
        self, status: int, data: bytes, kind: str, headers: dict[str, str], *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        if cut:
            self.close_connection = True

    def _stays(self, seconds: float) -> bool:
        """Wait that long; return False as soon as the client has gone or the server stops."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.stopping.is_set():
                return False
            readable, _, _ = select.select([self.connection], [], [], min(left, _LOOK_EVERY))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return False
        return True

    def _hang_up(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.close_connection = True


def _request_id(entry: Entry) -> str:
    return f"req_standin_{entry.number}"


def _parsed(raw: bytes) -> Any:
    """Return the JSON value; what is none comes back as text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode(errors="replace")
