"""`python -m tests.standin [flags]`: prints the stand-in's URL and serves until told to stop."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tests.standin.behaviour import Behaviour, Rate, Settings
from tests.standin.kinds import MEANING, Kind
from tests.standin.latency import Latency, parsed
from tests.standin.limits import Limits
from tests.standin.server import StandIn

_EXAMPLES: Final = """
what a fault may be:
{faults}

examples:
  python -m tests.standin --port 8099 --latency lognormal:5,24 --fault overloaded:0.1
  python -m tests.standin --port 8099 --requests 50 --per 60 --concurrency 16
  ANTHROPIC_BASE_URL=http://127.0.0.1:8099 ANTHROPIC_API_KEY=any ebbtide worker
  OPENAI_BASE_URL=http://127.0.0.1:8099/v1 OPENAI_API_KEY=any python -m examples.openai_loop --help

while it runs (the next request gets 529; what it was asked; that it serves):
  curl -d '{{"queue": [{{"kind": "overloaded"}}]}}' http://127.0.0.1:8099/control
  curl http://127.0.0.1:8099/requests
  curl http://127.0.0.1:8099/health
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or, with --until-eof, the end of standard input; return 0."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        settings = _settings(asked)
    except (OSError, ValidationError) as error:
        parser.error(str(error))
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with StandIn(asked.port, asked.host) as standin:
        for each in settings:
            standin.script.apply(each)
        print(standin.url, flush=True)
        if asked.until_eof:
            threading.Thread(target=_set_at_eof, args=(stop,), daemon=True).start()
        stop.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    faults = "\n".join(f"  {kind:<24}{meaning}" for kind, meaning in MEANING.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.standin",
        description="A stand-in for Anthropic's and OpenAI's APIs: answers, fails and limits as told.",
        epilog=_EXAMPLES.format(faults=faults),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 in a container")
    add("--port", type=int, default=0, help="port to listen on; 0: a free one (default)")
    add("--until-eof", action="store_true", help="stop at the end of standard input")
    add("--latency", type=_latency, metavar="S", help="0.2, uniform:0.1,0.3, lognormal:MEDIAN,P99, list:1,2")
    add("--jitter", type=float, metavar="S", help="the most seconds added to the latency at random")
    add("--seed", type=int, help="of all that is random; the same seed does the same")
    add("--window", type=int, metavar="TOKENS", help="longer prompts get 400 (default 1000000)")
    add("--max-bytes", type=int, metavar="N", help="longer requests get 413 (default 32000000)")
    add("--exact", action="store_true", default=None, help="usage tells real token counts, not bytes / 4")
    add("--no-bodies", dest="bodies", action="store_false", default=None, help="don't keep what was asked")
    add("--requests", type=int, metavar="N", help="requests of a key in --per seconds; more get 429")
    add("--input-tokens", type=int, metavar="N", help="input tokens of a key in --per seconds; more get 429")
    add("--per", type=float, default=60.0, metavar="S", help="seconds of these limits (default 60)")
    add("--concurrency", type=int, metavar="N", help="requests in flight; more get 529")
    add(
        "--fault", type=_rate, action="append", metavar="KIND[:SHARE]", help="a share of requests; repeatable"
    )
    add("--settings", type=Path, metavar="FILE", help="JSON as for POST /control, applied before the flags")
    return parser


def _settings(asked: argparse.Namespace) -> list[Settings]:
    """Return what the file says and what the flags say. Raises OSError, ValidationError."""
    found = [] if asked.settings is None else [Settings.model_validate_json(asked.settings.read_bytes())]
    names = ("latency", "jitter", "seed", "window", "max_bytes", "exact", "bodies")
    given = {name: getattr(asked, name) for name in names}
    if asked.fault:
        given["rates"] = tuple(asked.fault)
    if asked.requests or asked.input_tokens or asked.concurrency:
        given["limits"] = Limits(
            requests=asked.requests,
            input_tokens=asked.input_tokens,
            per=asked.per,
            concurrency=asked.concurrency,
        )
    return [*found, Settings(**{name: value for name, value in given.items() if value is not None})]


def _latency(text: str) -> Latency:
    try:
        return parsed(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: say 0.2, uniform:LOW,HIGH, lognormal:MEDIAN,P99 or list:A,B,…"
        ) from None


def _rate(text: str) -> Rate:
    kind, _, share = text.partition(":")
    try:
        return Rate(share=float(share or 1), behaviour=Behaviour(kind=Kind(kind)))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: say a kind of the list below, and a share of 0 to 1"
        ) from None


def _set_at_eof(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
