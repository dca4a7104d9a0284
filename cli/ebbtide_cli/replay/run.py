"""Replays transcripts side by side: a thread each, one pool for all."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from ebbtide_cli.replay.account import Account
from ebbtide_cli.replay.drive import NEUTRAL_MODEL, Step, steps
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.rig import Rig
from ebbtide_cli.replay.swaps import SwapsFile
from ebbtide_cli.replay.transcript import Fault, Problem, Transcript
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.errors import InputError
from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy, limits

log = logging.getLogger("ebbtide.replay")


@dataclass(frozen=True, slots=True)
class Options:
    """How transcripts are replayed: window and output in tokens, `pace` in seconds, `jobs` side by side."""

    context_window: int
    policy: Policy
    tenant: str
    max_tokens: int | None = None
    model: str = NEUTRAL_MODEL
    jobs: int = 8
    pace: float = 0.05


class Observer(Protocol):
    """Is told what happens, from the threads of the sessions."""

    def resting(self, transcript: Transcript) -> None:
        """Half of the pace was slept; no turn is under way."""

    def before_turn(self, transcript: Transcript) -> None:
        """The pace was slept, a turn begins when this returns."""

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """A turn was prepared."""

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """A session came to its end."""

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """A session could not be replayed."""


class Stopped(Exception):
    """The replay is to end."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a replay found: figures of each session replayed, in the transcripts' order, and problems.

    `faults` are what hosts had to work around (store, broker, records), and how often.
    """

    sessions: tuple[tuple[Transcript, Figures], ...]
    problems: tuple[Problem, ...]
    faults: Counter[str] = field(default_factory=Counter)


class Replay:
    """Drives transcripts through a pool."""

    def __init__(
        self, rig: Rig, options: Options, observer: Observer, swaps: SwapsFile | None = None
    ) -> None:
        self._rig = rig
        self._options = options
        self._observer = observer
        self._swaps = swaps
        self._faults: list[str] = []

    def run(self, transcripts: Sequence[Transcript]) -> Result:
        """Replay all of them, `jobs` at a time. An exception in this thread ends it after the turns under
        way.

        Raises StoreUnavailable when the pool's state store does not answer before the first turn.
        """
        self._rig.watcher.check(self._options.tenant)
        tokenizer()
        with ThreadPoolExecutor(self._options.jobs, thread_name_prefix="replay") as threads:
            try:
                ended = list(threads.map(self._session, transcripts))
            finally:
                self._rig.stop.set()
        pairs = list(zip(transcripts, ended, strict=True))
        return Result(
            tuple((t, e) for t, e in pairs if isinstance(e, Figures)),
            tuple(e for _, e in pairs if isinstance(e, Problem)),
            Counter(self._faults),
        )

    def _session(self, transcript: Transcript) -> Figures | Problem:
        try:
            figures = self._replayed(transcript)
        except InputError as error:
            return self._failed(transcript, Fault.REFUSED, str(error))
        except Stopped:
            return Problem(transcript.file, transcript.line, Fault.STOPPED, "the replay was stopped")
        except Exception as error:
            log.exception("a session of the replay crashed", extra={"ebbtide": {"session": transcript.id}})
            return self._failed(transcript, Fault.CRASHED, f"{type(error).__name__}: {error}")
        self._observer.finished(transcript, figures)
        return figures

    def _failed(self, transcript: Transcript, kind: Fault, detail: str) -> Problem:
        problem = Problem(transcript.file, transcript.line, kind, detail)
        self._observer.failed(transcript, problem)
        return problem

    def _replayed(self, transcript: Transcript) -> Figures:
        options = self._options
        resolved = limits(options.policy, options.context_window, options.max_tokens)
        account = Account(transcript, tokenizer(), resolved)
        session = self._rig.pool.session(
            tenant=options.tenant,
            session_id=transcript.id,
            model=options.model,
            context_window=options.context_window,
            dialect=transcript.format,
            policy=options.policy,
        )
        for step in steps(
            transcript, session, max_tokens=resolved.max_tokens, pause=partial(self._pause, transcript)
        ):
            account.take(step)
            self._faults += step.turn.report.faults
            if self._swaps is not None:
                self._swaps.write(transcript, step)
            self._observer.stepped(transcript, step)
        ending = self._rig.watcher.ending(Owner.of(options.tenant, transcript.id), self._rig.pool.flush)
        session.close()
        return account.figures(ending)

    def _pause(self, transcript: Transcript) -> None:
        half = self._options.pace / 2
        for tell in (self._observer.resting, self._observer.before_turn):
            if self._rig.stop.wait(half):
                raise Stopped
            tell(transcript)
