"""Everything that is shown of a replay while it runs. Pure: it is told what happens and what time it is."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ebbtide_cli.live import lane as lanes
from ebbtide_cli.live.event import ORDINARY, Event, Kind
from ebbtide_cli.live.lane import Lane, Seen
from ebbtide_cli.live.level import Level
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures, stall_ms
from ebbtide_cli.replay.transcript import Problem, Transcript
from ebbtide_core.policy import Limits

LOG: Final = 8
HISTORY: Final = 1_000
"""Events that a scene shows, and that a board keeps."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over sessions, ended or running, out of `all_sessions` and `all_turns`; `stall_p99` in ms."""

    all_sessions: int = 0
    all_turns: int = 0
    ended: int = 0
    turns: int = 0
    jobs: int = 0
    versions: int = 0
    swaps: int = 0
    degraded: int = 0
    stall_p99: float = 0.0

    def plus(self, lane: Lane) -> Totals:
        """Return the sums with those of a session."""
        return replace(
            self,
            turns=self.turns + lane.turn,
            jobs=self.jobs + lane.jobs,
            versions=self.versions + lane.published,
            swaps=self.swaps + lane.swaps,
            degraded=self.degraded + lane.degraded,
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """What a board holds at one moment. A session keeps its place in `lanes`; free places are None.

    `empty` carries the watermarks; `longest_name` (in characters) and `most_turns` are those of any session
    of the replay. `events` are the last that are worth a line, oldest first. `now` is by the clock of
    `Lane.began`, `elapsed` in seconds.
    """

    lanes: tuple[Lane | None, ...]
    empty: Level
    longest_name: int
    most_turns: int
    events: tuple[Event, ...]
    totals: Totals
    now: float
    elapsed: float


class Board:
    """Follows the sessions of a replay: those that run have a place each, those that ended only count."""

    def __init__(self, transcripts: Sequence[Transcript], limits: Limits, began: float = 0.0) -> None:
        turns = [turns_of(transcript) for transcript in transcripts]
        self._longest_name = max((len(transcript.id) for transcript in transcripts), default=0)
        self._most_turns = max(turns, default=0)
        self._ended = Totals(all_sessions=len(transcripts), all_turns=sum(turns))
        self._empty = Level.empty(limits)
        self._began = began
        self._lanes: dict[str, Lane] = {}
        self._places: list[str | None] = []
        self._stalls: list[float] = []
        self.events: deque[Event] = deque(maxlen=HISTORY)

    def lane(self, transcript: Transcript) -> Lane:
        """Return what is known of a session; it runs from its first mention on."""
        name = transcript.id
        if name not in self._lanes:
            self._lanes[name] = Lane(name, turns_of(transcript), self._empty)
            if None in self._places:
                self._places[self._places.index(None)] = name
            else:
                self._places.append(name)
        return self._lanes[name]

    def preparing(self, transcript: Transcript, now: float) -> None:
        """A turn of the session begins."""
        self._lanes[transcript.id] = replace(self.lane(transcript), began=now)

    def looked(self, transcript: Transcript, seen: Seen) -> Sequence[Event]:
        """The session's state was looked at; return what is new."""
        after, events = lanes.looked(self.lane(transcript), seen)
        return self._told(transcript, after, events)

    def stepped(self, transcript: Transcript, step: Step) -> Sequence[Event]:
        """A turn of the session was prepared; return what happened."""
        after, events = lanes.stepped(self.lane(transcript), step)
        insort(self._stalls, step.stall)
        return self._told(transcript, after, events)

    def _told(self, transcript: Transcript, after: Lane, events: Sequence[Event]) -> Sequence[Event]:
        self._lanes[transcript.id] = after
        self.events.extend(events)
        return events

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """The session came to its end; the figures know of its last jobs and versions."""
        lane = self.lane(transcript)
        self._end(transcript, replace(lane, jobs=figures.jobs_enqueued, published=figures.versions_published))

    def failed(self, transcript: Transcript, problem: Problem) -> Event:
        """The session could not be replayed to its end; return what happened."""
        lane = self.lane(transcript)
        event = Event(lane.session, lane.turn, Kind.PROBLEM, f"{problem.kind.value}: {problem.detail}")
        self.events.append(event)
        self._end(transcript, lane)
        return event

    def _end(self, transcript: Transcript, lane: Lane) -> None:
        del self._lanes[transcript.id]
        self._places[self._places.index(transcript.id)] = None
        self._ended = replace(self._ended.plus(lane), ended=self._ended.ended + 1)

    def scene(self, now: float) -> Scene:
        """Return what is to be shown at this moment."""
        totals = self._ended
        for lane in self._lanes.values():
            totals = totals.plus(lane)
        return Scene(
            lanes=tuple(None if name is None else self._lanes[name] for name in self._places),
            empty=self._empty,
            longest_name=self._longest_name,
            most_turns=self._most_turns,
            events=self._last_events(),
            totals=replace(totals, stall_p99=stall_ms(self._stalls)["p99"]),
            now=now,
            elapsed=max(0.0, now - self._began),
        )

    def _last_events(self) -> tuple[Event, ...]:
        found: list[Event] = []
        for event in reversed(self.events):
            if event.kind not in ORDINARY:
                found.append(event)
                if len(found) == LOG:
                    break
        return tuple(reversed(found))


def turns_of(transcript: Transcript) -> int:
    """Return how many turns a transcript has."""
    return len(transcript.turns)
