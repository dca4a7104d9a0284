"""Keeps a board up to date while sessions run side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from ebbtide_cli.live.board import Board, Scene
from ebbtide_cli.live.event import Event
from ebbtide_cli.live.lane import Seen
from ebbtide_cli.live.lookout import Lookout
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.rig import Rig
from ebbtide_cli.replay.run import Options
from ebbtide_cli.replay.transcript import Problem, Transcript
from ebbtide_core.policy import limits

Look = Callable[[str], Seen | None]
"""Returns what the state holds of a session, None when it can't be read."""


class Follower:
    """A board for threads; each method that takes a transcript is called from its session's thread.

    A session's state is looked at between its turns only, and only while something can happen to it outside
    its host, so that a turn takes as long as it would unwatched.
    """

    def __init__(self, board: Board, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        self._board = board
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()

    def resting(self, transcript: Transcript) -> Sequence[Event]:
        """No turn of the session is under way; return what happened to it outside its host."""
        with self._lock:
            expects = self._board.lane(transcript).expects
        return self._looked(transcript) if expects else ()

    def before_turn(self, transcript: Transcript) -> Sequence[Event]:
        """A turn begins when this returns; return what happened before it."""
        events = self.resting(transcript)
        with self._lock:
            self._board.preparing(transcript, self._clock())
        return events

    def stepped(self, transcript: Transcript, step: Step) -> Sequence[Event]:
        """A turn was prepared; return what happened while it waited, and in it."""
        meanwhile = self._looked(transcript) if step.turn.report.waited else ()
        with self._lock:
            return [*meanwhile, *self._board.stepped(transcript, step)]

    def _looked(self, transcript: Transcript) -> Sequence[Event]:
        seen = self._look(transcript.id)
        if seen is None:
            return ()
        with self._lock:
            return self._board.looked(transcript, seen)

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """The session came to its end."""
        with self._lock:
            self._board.finished(transcript, figures)

    def failed(self, transcript: Transcript, problem: Problem) -> Event:
        """The session could not be replayed to its end; return what happened."""
        with self._lock:
            return self._board.failed(transcript, problem)

    def scene(self) -> Scene:
        """Return what is to be shown now."""
        with self._lock:
            return self._board.scene(self._clock())

    def history(self) -> Sequence[Event]:
        """Return the events that the board has kept, oldest first."""
        with self._lock:
            return tuple(self._board.events)


def follower(transcripts: Sequence[Transcript], rig: Rig, options: Options) -> Follower:
    """Return a follower of transcripts that are replayed from now on with this rig and these options."""
    board = Board(transcripts, limits(options.policy, options.context_window), time.monotonic())
    return Follower(board, Lookout(rig.watcher, options.tenant).look)
