"""Rung extractive: a local summary, made without a model, and the tail."""

from __future__ import annotations

from ebbtide_core.budget.boundary import Cut
from ebbtide_core.lineage.buffer import Kind, checked
from ebbtide_core.summary.extractive import summarise
from ebbtide_core.summary.message import render
from ebbtide_core.summary.source import SourceMessage, source_message
from ebbtide_core.swap import heads
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.notice import local_notice
from ebbtide_core.views.view import Rung, View, omission


def extractive(ground: Ground, cut: Cut | None) -> View | None:
    """Return the view that replaces everything before the cut by a local summary; None without a cut."""
    if cut is None:
        return None
    entries = ground.entries
    lead, behind = heads(entries, cut.index)
    stay = [*behind, *cut.kept, *range(cut.index, len(entries))]
    left = frozenset((*lead, *behind, *cut.kept))
    gone = [i for i in range(cut.index) if i not in left]
    summary = ground.buffer.dialect.user(_text(ground, gone))
    passed = ground.buffer.passed
    messages = (*(passed[i] for i in lead), summary, *(passed[i] for i in stay))
    tokens = sum(ground.tokens[i] for i in (*lead, *stay)) + ground.count(summary)
    return View(Rung.EXTRACTIVE, messages, omission(ground.buffer, gone), tokens)


def _text(ground: Ground, gone: list[int]) -> str:
    """Return notice and local summary, together at most `summary_max_tokens` as far as a notice fits."""
    buffer = ground.buffer
    spoken = [i for i in gone if buffer.entries[i].kind is not Kind.SUMMARY]
    notice = local_notice(len(spoken))
    budget = ground.limits.summary_max_tokens - ground.count(buffer.dialect.user(notice))
    made = summarise(
        [_source(ground, i) for i in spoken],
        base=buffer.summary.summary if buffer.summary else None,
        budget=max(0, budget),
        count=lambda text: ground.count(buffer.dialect.user(text)),
    )
    return f"{notice}\n\n{render(made)}"


def _source(ground: Ground, index: int) -> SourceMessage:
    message = checked(ground.buffer.passed[index], index, ground.buffer.dialect)
    return source_message(ground.entries[index].index, message, ground.buffer.dialect)
