"""Steers a stand-in from any process, over HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from tests.standin.behaviour import Behaviour, Kind, Settings


class Control:
    """The control endpoint of the stand-in at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opener = build_opener(ProxyHandler({}))

    def set(self, settings: Settings) -> None:
        """Change the settings. Raises HTTPError (400) when they make no sense."""
        self.call("/control", settings.model_dump_json(exclude_unset=True).encode())

    def queue(self, *behaviours: Behaviour | Kind) -> None:
        """Let the next requests be treated like this, one each."""
        given = (Behaviour(kind=b) if isinstance(b, Kind) else b for b in behaviours)
        self.set(Settings(queue=tuple(given)))

    def reset(self) -> None:
        """Forget settings and requests."""
        self.set(Settings(reset=True))

    def requests(self, *, count: int = 0, settled: bool = False, wait: float = 10.0) -> list[dict[str, Any]]:
        """Return what was asked, see `log.Entry`.

        Waits, for at most `wait` seconds, until `count` requests have arrived and, with `settled`, all have
        ended. Raises TimeoutError when they have not by then.
        """
        found: list[dict[str, Any]] = self.call(f"/requests?count={count}&settled={int(settled)}&wait={wait}")
        if len(found) < count or (settled and any(not entry["ended"] for entry in found)):
            raise TimeoutError(
                f"{len(found)} of {count} requests after {wait} s: {[e['outcome'] for e in found]}"
            )
        return found

    def call(self, path: str, body: bytes | None = None) -> Any:
        """Return the JSON that a GET, or with a body a POST, brings. Raises HTTPError for an error status."""
        request = Request(self.url + path, data=body, headers={"content-type": "application/json"})
        with self._opener.open(request, timeout=60) as response:
            return json.load(response)
