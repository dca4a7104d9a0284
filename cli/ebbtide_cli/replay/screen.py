"""Where a replaying command shows what, by its flags and by what it writes to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rich.console import Console

from ebbtide_cli.live.view import is_live
from ebbtide_cli.replay.report import STDOUT
from ebbtide_cli.replay.run import Result
from ebbtide_cli.replay.view import show_faults, show_result, show_totals


@dataclass(frozen=True, slots=True)
class Screen:
    """`console` shows what matters in any case; `talk` is the same, or silent with `--quiet`.

    `motion` is for what moves: `console` on a terminal that can do that, else silent. `figures_elsewhere`:
    `--json` writes them, so that `--quiet` shows none.
    """

    console: Console
    talk: Console
    motion: Console
    quiet: bool
    figures_elsewhere: bool

    @classmethod
    def opened(cls, json_file: Path | None, *, quiet: bool) -> Self:
        """Return the screen of a command with these flags: stderr where the figures go to stdout."""
        console = Console(stderr=json_file == STDOUT, highlight=False)
        silent = Console(quiet=True)
        talk = silent if quiet else console
        motion = talk if is_live(console) else silent
        return cls(console, talk, motion, quiet, json_file is not None)

    @property
    def live(self) -> bool:
        """Whether sessions are shown live."""
        return not self.motion.quiet

    def show(self, result: Result) -> None:
        """Show what a replay found: tables and totals; quietly the totals, if nothing else has them."""
        if not self.quiet:
            show_result(self.console, result)
            return
        if not self.figures_elsewhere:
            show_totals(self.console, result)
        show_faults(self.console, result)
