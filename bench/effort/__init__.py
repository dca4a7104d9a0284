"""(e) How often a session's messages are read to be summarised, over its life, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from bench.effort.asked import Asked, asked
from bench.effort.life import POLICY, Life, lived
from bench.effort.sessions import real, seeded
from bench.report import Cell, Goal, Result
from bench.work.ground import ANSWER_ITEMS, Ground
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_worker.summarisers.forms import NOTES

GOAL: Final = 1.15
INPUT_PRICE: Final = 0.10 / 1e6
OUTPUT_PRICE: Final = 0.50 / 1e6
"""Dollars a token of claude-haiku-5-5."""

LONG_LIFE: Final = 4
"""Compactions from which on a real session counts as one that lives long."""

ROUND: Final = 700
"""About how many tokens a round of a seeded session has."""

_COLUMNS: Final = (
    "", "compactions", "source tokens", "summarised a source token", "input a source token",
    "calls", "input tokens", "output tokens", "cost $",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """Sessions of one kind and their lives. `paid` is what was answered, `all` every request."""

    name: str
    lives: tuple[Life, ...]
    paid: Asked
    all: Asked

    @property
    def source(self) -> int:
        """Tokens of all messages that were compacted."""
        return sum(sum(life.news) for life in self.lives)

    @property
    def compactions(self) -> int:
        """How many records were swapped in."""
        return sum(len(life.records) for life in self.lives)

    @property
    def ratio(self) -> float:
        """Tokens summarised for each source token."""
        return (self.paid.shown + self.paid.base) / self.source


def run(*, quick: bool) -> Result:
    """Return the table: each kind of session with Ebbtide, and the two ways without."""
    window, compactions = (20_000, 2) if quick else (200_000, 12)
    small, many = (12_000, 2) if quick else (32_000, 12)
    transcripts = [] if quick else real()
    with Ground(summariser="anthropic") as ground:
        large = _group(ground, window, compactions, ["large"])
        faulty = _group(ground, window, compactions, ["faulty"], faults=True)
        short = _group(ground, small, many, ["short-1", "short-2"])
        real_lives = [lived(ground, t, small, 1_000, faults=False) for t in transcripts]
    groups = [large, short]
    lives = [life for life in real_lives if len(life.records) >= LONG_LIFE]
    if lives:
        groups.append(_measured(f"real, window {small:,}", lives))
    rows = [row for group in groups for row in (_row(group.name, group, group.paid), *_rivals(group))]
    return Result(
        name="effort",
        title="Effort: what is read to be summarised over a session's life, in tokens of o200k",
        columns=_COLUMNS,
        rows=(*rows, *_faulty_rows(faulty)),
        goals=(*map(_goal, (*groups, faulty)),),
        notes=_notes(groups, faulty, len(lives)),
    )


def _group(
    ground: Ground, window: int, compactions: int, names: Sequence[str], *, faults: bool = False
) -> Group:
    """Have seeded sessions live until they had so many compactions."""
    rounds = window * (compactions + 1) // ROUND
    lives = [lived(ground, seeded(n, rounds), window, compactions, faults=faults) for n in names]
    told = ", half of each first attempt fails" if faults else ""
    return _measured(f"seeded, window {window:,}{told}", lives)


def _measured(name: str, lives: Sequence[Life]) -> Group:
    count = tokenizer().count
    entries = [entry for life in lives for entry in life.entries]
    good = asked((entry for entry in entries if entry["status"] == 200), count)
    return Group(name, tuple(lives), good, asked(entries, count))


def _row(name: str, group: Group, spent: Asked) -> tuple[Cell, ...]:
    return (
        name,
        group.compactions,
        group.source,
        (spent.shown + spent.base) / group.source,
        spent.input / group.source,
        spent.calls,
        spent.input,
        spent.output,
        INPUT_PRICE * spent.input + OUTPUT_PRICE * spent.output,
    )


def _rivals(group: Group) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows of two ways that remember nothing, reckoned for the sessions' compactions."""
    everything = [size for life in group.lives for size in accumulate(life.news)]
    buffers = [
        new + last
        for life in group.lives
        for new, last in zip(life.news, [0, *life.summaries[:-1]], strict=True)
    ]
    return (
        _row("  all messages each time", group, _reckoned(group, everything)),
        _row("  last summary and new messages each time", group, _reckoned(group, buffers)),
    )


def _reckoned(group: Group, sizes: Sequence[int]) -> Asked:
    """Return what compactions cost that are shown so many of the host's tokens each.

    They are rendered as Ebbtide renders them, in calls of the same size with the same prompt, and answer with
    summaries of the same size.
    """
    rendered = group.paid.shown / group.source
    calls = sum(-(-size // POLICY.chunk_tokens) for size in sizes)
    shown = round(rendered * sum(sizes))
    return Asked(
        calls=calls,
        shown=shown,
        input=shown + calls * _prompt_tokens(),
        output=sum(sum(life.summaries) for life in group.lives),
    )


def _prompt_tokens() -> int:
    """Return the tokens of a request for notes beside its data."""
    definition = b"\n".join(NOTES.definition).decode()
    return tokenizer().count(definition)


def _faulty_rows(group: Group) -> tuple[tuple[Cell, ...], ...]:
    return (
        _row(group.name, group, group.paid),
        _row("  if the failed calls had been paid, too", group, group.all),
    )


def _goal(group: Group) -> Goal:
    return Goal(
        f"Tokens summarised for each source token ({group.name})",
        f"at most {GOAL}",
        f"{group.ratio:.3f}",
        group.ratio <= GOAL,
    )


def _notes(groups: Sequence[Group], faulty: Group, real_sessions: int) -> tuple[str, ...]:
    failed = sum(life.failed for life in faulty.lives)
    attempts = faulty.compactions + failed
    reread = ", ".join(f"{(g.paid.base / g.source):.3f} ({g.name})" for g in groups)
    absent = (
        "" if real_sessions else " There were no real transcripts beside the checkout, or too short ones."
    )
    return (
        "Source: messages that records replaced, as the host counts them. Summarised: what calls were shown "
        "of messages, rendered, and of the last summary. Input: all that calls read: prompts, schemas, and "
        "in merges the notes on each chunk. Ids of calls and JSON's signs are counted by the host and not "
        "shown, so that messages shown once can come to less than 1.",
        f"Of it the last summary, read again by merges: {reread}. It grows with the summary's size over what "
        "a compaction is about, so small windows pay most.",
        f"Real host, broker, worker and SDK; the stand-in answers with {ANSWER_ITEMS} new decisions a job, "
        f"about 25 tokens each. {real_sessions} real sessions.{absent}",
        f"Faults: a failing call is answered with 500 and not paid; {failed} of {attempts} "
        "attempts failed. What their other calls brought is found as memos by the next attempt.",
        "The ways without memory are reckoned for the same compactions, in the same rendering, and never "
        "fail. Prompts above 100,000 tokens are priced like others, to their advantage.",
    )
