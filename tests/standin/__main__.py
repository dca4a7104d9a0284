"""`python -m tests.standin [--port N]`: prints the stand-in's URL and serves until told to stop."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from tests.standin.server import StandIn


def main() -> int:
    """Serve until SIGTERM, SIGINT or, with --until-eof, the end of standard input; return 0."""
    parser = argparse.ArgumentParser(
        prog="tests.standin", description="A stand-in for the Anthropic Messages API."
    )
    parser.add_argument("--port", type=int, default=0, help="port on the loopback; 0: a free one (default)")
    parser.add_argument("--until-eof", action="store_true", help="stop at the end of standard input")
    asked = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with StandIn(asked.port) as standin:
        print(standin.url, flush=True)
        if asked.until_eof:
            threading.Thread(target=_set_at_eof, args=(stop,), daemon=True).start()
        stop.wait()
    return 0


def _set_at_eof(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
