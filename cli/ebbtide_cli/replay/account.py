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
from ebbtide_core.decide import Action
from ebbtide_core.policy import Limits


class Account:
    """The account of one session; `take` each step, then ask for the figures."""

    def __init__(self, transcript: Transcript, tokenizer: Tokenizer, limits: Limits) -> None:
        self._transcript = transcript
        self._limits = limits
        self._coverage = CoverageCheck(transcript.messages)
        self._window = WindowCheck(
            tokenizer, limits.window, limits.max_tokens, transcript.system, transcript.tools
        )
        self._counts: Counter[str] = Counter()
        self._peak = 0
        self._stalls: list[float] = []
        self._swapped_at = -1

    def take(self, step: Step) -> None:
        """Add one turn."""
        report, swap = step.turn.report, step.turn.swap
        before = self._swapped_at
        self._swapped_at = step.number if swap else before
        self._peak = max(self._peak, report.projected)
        self._stalls.append(step.stall)
        self._coverage.take(step)
        self._counts.update(
            turns=1,
            swaps=swap is not None,
            swaps_in_a_row=swap is not None and step.number == before + 1,
            small_swaps=swap is not None and swap.record.source_tokens < self._limits.min_new_tokens,
            pruned_turns=report.action is Action.PRUNE,
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
            context_window=self._limits.window,
            jobs_enqueued=ending.jobs_enqueued,
            versions_published=ending.versions_published,
            rejected=Counter(ending.rejected),
            uncovered_messages=len(self._coverage.uncovered),
            stalls=tuple(self._stalls),
        )
