"""Keeps the account of one session while its turns come in."""

from __future__ import annotations

import operator
from collections import Counter

from ebbtide_cli.replay.coverage import CoverageCheck
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.ending import Ending
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.provider_rules import new_violations
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_cli.replay.window import WindowCheck
from ebbtide_core.budget.tokens import Tokenizer


class Account:
    """The account of one session; `take` each step, then ask for the figures."""

    def __init__(
        self, transcript: Transcript, tokenizer: Tokenizer, context_window: int, max_tokens: int
    ) -> None:
        self._transcript = transcript
        self._context_window = context_window
        self._coverage = CoverageCheck(transcript.messages)
        self._window = WindowCheck(tokenizer, context_window, max_tokens, transcript.system, transcript.tools)
        self._counts: Counter[str] = Counter()
        self._peak = 0
        self._stalls: list[float] = []

    def take(self, step: Step) -> None:
        """Add one turn."""
        report = step.turn.report
        self._peak = max(self._peak, report.projected)
        self._stalls.append(step.stall)
        self._coverage.take(step)
        self._counts.update(
            turns=1,
            swaps=step.turn.swap is not None,
            degraded_turns=report.degraded,
            unfittable_turns=step.unfittable,
            requests_over_window=self._window.over(step.turn.messages),
            invalid_requests=self._invalid(step),
            declared_omitted_messages=sum(gap.messages for gap in report.omitted),
        )

    def _invalid(self, step: Step) -> bool:
        raw = self._transcript.messages[: step.raw]
        sent = step.turn.messages
        if len(sent) == len(raw) and all(map(operator.is_, sent, raw)):
            return False
        return bool(new_violations(self._transcript.format, raw, sent))

    def figures(self, ending: Ending) -> Figures:
        """Return the account, with what the state tells about the session's jobs."""
        return Figures(
            **self._counts,
            messages=len(self._transcript.messages),
            peak_projected_tokens=self._peak,
            context_window=self._context_window,
            jobs_enqueued=ending.jobs_enqueued,
            versions_published=ending.versions_published,
            rejected=Counter(ending.rejected),
            uncovered_messages=len(self._coverage.uncovered),
            stalls=tuple(self._stalls),
        )
