"""The live view: the one place that draws on the terminal while a replay runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live

from ebbtide_cli.live.follower import Follower
from ebbtide_cli.live.frame import Frame
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.transcript import Problem, Transcript
from ebbtide_cli.replay.view import degraded_line, problem_line

FRAME_SECONDS: Final = 0.125
IDLE_SECONDS: Final = 0.5
"""Frames are at least so far apart; while nothing happens, at most so far."""


def is_live(console: Console) -> bool:
    """Say whether a console can show a picture that moves: a terminal that knows how to move its cursor.

    Variables that only force colours, as set by many CI systems, do not make a pipe one.
    """
    return console.is_interactive and not console.is_dumb_terminal and console.file.isatty()


class LiveView:
    """Shows sessions while they run, and lines for those that had a problem or were degraded.

    Drawn between turns, from the threads of the sessions, so that drawing takes nothing from a turn of a
    single session; a thread of its own draws only while nothing happens. Erased in the end.
    """

    def __init__(
        self, console: Console, follower: Follower, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._follower = follower
        self._clock = clock
        self._lock = threading.Lock()
        self._drawn = -IDLE_SECONDS
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="live-view", daemon=True)

    def resting(self, transcript: Transcript) -> None:
        """Show what happened outside the host."""
        self._follower.resting(transcript)
        self._draw(FRAME_SECONDS)

    def before_turn(self, transcript: Transcript) -> None:
        """Follow what happened since the last turn; it is shown with the turn, not to crowd that out."""
        self._follower.before_turn(transcript)

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Show the turn."""
        self._follower.stepped(transcript, step)
        self._draw(FRAME_SECONDS)

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Take the session off the picture; one that was degraded leaves a line."""
        self._follower.finished(transcript, figures)
        if figures.degraded_turns or figures.unfittable_turns:
            self._console.print(degraded_line(transcript, figures), soft_wrap=True)
        self._draw(FRAME_SECONDS)

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Take the session off the picture and leave its problem as a line."""
        self._follower.failed(transcript, problem)
        self._console.print(problem_line(problem), soft_wrap=True)
        self._draw(FRAME_SECONDS)

    def _draw(self, apart: float) -> None:
        """Draw a frame unless the last one is newer than so many seconds."""
        with self._lock:
            if self._stop.is_set() or self._clock() - self._drawn < apart:
                return
            self._live.update(Frame(self._follower.scene()), refresh=True)
            self._drawn = self._clock()

    def _tick(self) -> None:
        while not self._stop.wait(IDLE_SECONDS / 2):
            self._draw(IDLE_SECONDS)

    def __enter__(self) -> Self:
        try:
            self._live.start()
            self._draw(0.0)
            self._ticker.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._stop.set()
        try:
            if self._ticker.is_alive():
                self._ticker.join()
            self._live.stop()
        finally:
            self._console.show_cursor(True)
