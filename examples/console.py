"""The command line of the examples: their flags, and what they show of Ebbtide."""

from __future__ import annotations

import argparse
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from ebbtide import Turn


@dataclass(frozen=True)
class Options:
    """What is asked, where, and of whom. `window` is in tokens, `turns` the most model calls."""

    task: str
    folder: Path
    state: str
    session: str
    model: str
    window: int
    turns: int
    base_url: str | None


def parsed(description: str, *, model: str, window: int) -> Options:
    """Return what the command line says; `model` and its `window` when it does not say."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("task", help="what the agent is to find out about the folder")
    add("--folder", type=Path, default=Path(), help="the folder that it may look around in (.)")
    add("--state", default="redis://127.0.0.1:6379/0", metavar="URL", help="the pool (%(default)s)")
    add("--session", default=secrets.token_hex(4), help="name of the conversation (a new one)")
    add("--model", default=model, help="the agent's model (%(default)s)")
    add("--window", type=int, default=window, metavar="TOKENS", help="its context window (%(default)s)")
    add("--turns", type=int, default=200, metavar="N", help="give up after so many model calls (%(default)s)")
    add("--base-url", metavar="URL", help="another endpoint than the SDK's own")
    return Options(**vars(parser.parse_args()))


def tell(turn: Turn) -> None:
    """Show on stderr what Ebbtide did, when it did something."""
    report = turn.report
    if turn.swap is not None:
        told = f"summary {turn.swap.version} stands for {turn.swap.removed} messages"
        print(f"[{told}: {report.projected:,} → {report.sent:,} tokens]", file=sys.stderr)
    elif report.notice:
        print(f"[{report.notice}]", file=sys.stderr)
