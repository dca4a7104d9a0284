"""What each failure of the provider does, one row each: rehearsed, and shown in the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.standin import Behaviour, Kind
from tests.standin.kinds import MEANING


class Where(StrEnum):
    """Which of a job's calls meet the fault."""

    CHUNK = "one chunk"
    MERGE = "the merge"
    CHUNKS = "all chunks"


class Memos(StrEnum):
    """Which chunks' memos there are afterwards: what the next job need not pay again."""

    ALL = "all memos stay"
    OTHERS = "the other chunks' memos stay, and those of its pieces that were made"
    NONE = "the memos are deleted"


@dataclass(frozen=True)
class End:
    """How the job ends: the labels of its metric, and the memos."""

    outcome: str
    reason: str
    memos: Memos

    @property
    def published(self) -> bool:
        """Is there a version?"""
        return self.outcome == "success"


@dataclass(frozen=True)
class Row:
    """A fault that lasts, where it is met, how the job ends.

    `steps`: what followed each call that met it, in order. `kind`: what such a call counts as. `paid`: the
    provider charges for the call, and tells so. `called`: what the fault is, if it is not what its kind
    means. `note`: what more there is to know. `planted`: a chunk's notes quote an order to the model, so that
    the merge can obey it. `extracted`: the chunk is read by rules in the end.
    """

    fault: Behaviour
    where: Where
    end: End
    steps: tuple[str, ...] = ()
    kind: str = "ok"
    paid: bool = False
    called: str = ""
    note: str = ""
    planted: bool = False
    extracted: bool = False

    @property
    def name(self) -> str:
        """The fault in one line."""
        return self.called or f"`{self.fault.kind.value}`: {MEANING[self.fault.kind]}"

    @property
    def calls(self) -> int:
        """How many calls meet it; of all chunks, how many of each."""
        return max(1, len(self.steps))

    @property
    def passes(self) -> bool:
        """Is the same call made again, so that a fault of one call does no harm?"""
        return "again" in self.steps


def _again(calls: int) -> tuple[str, ...]:
    return (*("again",) * (calls - 1), "give")


_SHRUNK: Final = {Where.CHUNK: ("shrink", "shrink", "give"), Where.MERGE: ("shrink", "give")}
"""A chunk is halved twice; the merge of four parts once, since two can't be parted."""


def _neutral(kind: Kind, reason: str, calls: int, called: str = "", **more: object) -> Iterator[Row]:
    """The provider's own trouble, or the account's: nothing is held against the session, memos stay."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    for where, memos in ((Where.CHUNK, Memos.OTHERS), (Where.MERGE, Memos.ALL)):
        yield Row(fault, where, End("neutral", reason, memos), _again(calls), reason, called=called)


def _refused(kind: Kind, called: str = "", **more: object) -> Iterator[Row]:
    """An error that each call of the job would meet. Not paid."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    for where, memos in ((Where.CHUNK, Memos.OTHERS), (Where.MERGE, Memos.NONE)):
        end = End("failure", "bad_request", memos)
        yield Row(fault, where, end, _again(1), "bad_request", called=called)


def _too_much(
    kind: Kind, reason: str, called: str = "", *, paid: bool = False, **more: object
) -> Iterator[Row]:
    """Too much for one call, and for each that shows less."""
    yield from _content(kind, reason, _SHRUNK, called, paid=paid, **more)


def _unusable(kind: Kind, reason: str, calls: int, called: str = "", **more: object) -> Iterator[Row]:
    """An answer that is no summary, and is paid."""
    steps = dict.fromkeys((Where.CHUNK, Where.MERGE), _again(calls))
    yield from _content(kind, reason, steps, called, paid=True, **more)


def _content(
    kind: Kind,
    reason: str,
    steps: Mapping[Where, tuple[str, ...]],
    called: str = "",
    *,
    paid: bool,
    **more: object,
) -> Iterator[Row]:
    """What one chunk's content brings about: it is read by rules, while the merge has nobody to stand in."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    told = {"kind": reason, "paid": paid, "called": called}
    chunk = End("success", "published", Memos.OTHERS)
    yield Row(
        fault,
        Where.CHUNK,
        chunk,
        steps[Where.CHUNK],
        extracted=True,
        note=_BY_RULES,
        **told,  # type: ignore[arg-type]
    )
    merge = End("failure", reason, Memos.NONE)
    yield Row(fault, Where.MERGE, merge, steps[Where.MERGE], **told)  # type: ignore[arg-type]


_BY_RULES: Final = "degraded: the chunk is read by rules"


def _unexpected(kind: Kind, called: str, **more: object) -> Iterator[Row]:
    """An answer that this version does not know, and is paid."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    for where, memos in ((Where.CHUNK, Memos.OTHERS), (Where.MERGE, Memos.NONE)):
        end = End("failure", "unexpected", memos)
        yield Row(fault, where, end, _again(2), "unexpected", paid=True, called=called)


def _published(kind: Kind, *wheres: Where, note: str = "", planted: bool = False) -> Iterator[Row]:
    """An answer that becomes a version."""
    end = End("success", "published", Memos.ALL)
    fault = Behaviour(kind=kind)
    for where in wheres:
        yield Row(fault, where, end, paid=True, note=note, planted=planted and where is Where.MERGE)


def _rejected(kind: Kind, where: Where, note: str) -> Iterator[Row]:
    """Answers that are summaries each, and together none that may be published."""
    end = End("failure", "rejected", Memos.NONE)
    yield Row(Behaviour(kind=kind), where, end, paid=True, note=note)


_BOTH: Final = (Where.CHUNK, Where.MERGE)
_SOON: Final = 0.05
"""What the provider asks to wait, in seconds; of its own accord the stand-in says 30 and more."""

TABLE: Final[tuple[Row, ...]] = (
    *_published(Kind.GOOD, *_BOTH),
    *_published(Kind.FENCED, *_BOTH, note="the fence is taken off"),
    # the provider's own trouble
    *_neutral(Kind.RATE_LIMITED, "rate_limited", 4, retry_after=_SOON),
    *_neutral(Kind.RAMP_LIMIT, "rate_limited", 4, retry_after=_SOON),
    *_neutral(Kind.SERVER_ERROR, "unavailable", 4),
    *_neutral(Kind.UNAVAILABLE, "unavailable", 4),
    *_neutral(Kind.OVERLOADED, "overloaded", 4),
    *_neutral(Kind.COMPACTION_UNAVAILABLE, "overloaded", 4),
    *_neutral(Kind.HTML, "unavailable", 4, "`html` 502: a gateway's page", status=502),
    *_neutral(Kind.DROP, "connection", 4),
    *_neutral(Kind.CUT, "connection", 4),
    *_neutral(Kind.GATEWAY_TIMEOUT, "timeout", 2),
    *_neutral(Kind.HANG, "timeout", 2),
    *_neutral(Kind.HTML, "unreadable", 2, "`html`: a web page with status 200"),
    *_neutral(Kind.NULL, "unreadable", 2),
    # the account's
    *_neutral(Kind.UNAUTHORIZED, "auth", 1),
    *_neutral(Kind.FORBIDDEN, "forbidden", 1),
    *_neutral(Kind.BILLING, "spend_limit", 1),
    *_neutral(Kind.SPEND_LIMIT, "spend_limit", 1),
    *_neutral(Kind.CONTRACT_LIMIT, "spend_limit", 1),
    *_neutral(Kind.USAGE_LIMIT, "spend_limit", 1),
    *_neutral(Kind.NOT_FOUND, "not_found", 1),
    # requests that would be refused again
    *_refused(Kind.BAD_REQUEST),
    *_refused(Kind.STATUS, "`status` 422: any other 4xx", status=422),
    *_too_much(Kind.PROMPT_TOO_LONG, "too_long"),
    *_too_much(Kind.TOO_LARGE, "too_large"),
    # answers that are no summary
    *_too_much(Kind.TRUNCATED, "truncated", paid=True),
    *_too_much(
        Kind.STOP,
        "too_long",
        "`stop`: half an answer, the window is full",
        paid=True,
        stop_reason="model_context_window_exceeded",
    ),
    *_unusable(Kind.REFUSAL, "refused", 1),
    *_unusable(Kind.TOOL_CALL, "tool_call", 2),
    *_unexpected(Kind.STOP, "`stop`: any other stop reason, such as `pause_turn`", stop_reason="pause_turn"),
    *_unusable(Kind.PROSE, "not_json", 2),
    *_unusable(Kind.TEXT, "empty", 2, "`text`: blanks", text=" "),
    *_unusable(Kind.EMPTY, "empty", 2),
    *_unusable(Kind.MISSING, "schema", 2),
    *_unusable(
        Kind.GOOD, "schema", 2, "`good`, a field of a wrong type", fields={"session_intent": ["a list"]}
    ),
    # summaries that are not true
    *_published(
        Kind.INVENTED, *_BOTH, note="files and identifiers of its own are removed, prose is not checked"
    ),
    *_rejected(Kind.INVENTED, Where.CHUNKS, "most of what they name is not in the source"),
    *_published(
        Kind.OBEYED,
        *_BOTH,
        note="the order's words stand in prose and decisions; rules, files, identifiers stay the source's",
        planted=True,
    ),
)

HEAD: Final = ("fault", "calls", "outcome", "store", "metric")

_BREAKER: Final = {"success": "a version", "neutral": "breaker as before", "failure": "breaker counts one"}


def markdown() -> str:
    """Return the table for people: one line for what ends alike in a chunk's call and in the merge's."""
    lines: dict[tuple[str, ...], list[Row]] = {}
    for row in TABLE:
        lines.setdefault((row.name, _calls(row), _outcome(row), _metric(row)), []).append(row)
    cells = [
        (f"{name}{_place(rows)}", calls, outcome, _store(rows), metric)
        for (name, calls, outcome, metric), rows in lines.items()
    ]
    table = [HEAD, tuple("---" for _ in HEAD), *cells]
    return "\n".join(f"| {' | '.join(each)} |" for each in table)


def _place(rows: list[Row]) -> str:
    return f", in {rows[0].where.value}" if len(rows) == 1 else ""


def _calls(row: Row) -> str:
    shrunk = row.steps.count("shrink")
    return f"{row.calls}, smaller each time" if shrunk else str(row.calls)


def _outcome(row: Row) -> str:
    told = "published" if row.end.published else row.end.outcome
    return f"{told}; {row.note}" if row.note else told


def _store(rows: list[Row]) -> str:
    """Say what is kept. Where a line stands for both places, its memos go in the merge only."""
    breaker = _BREAKER[rows[0].end.outcome]
    gone = [row.where for row in rows if row.end.memos is Memos.NONE]
    if not gone:
        return f"{breaker}; memos stay"
    return f"{breaker}; memos {'stay, in the merge they are deleted' if len(rows) > 1 else 'deleted'}"


def _metric(row: Row) -> str:
    return f"`{row.end.outcome}`, `{row.end.reason}`{'; tokens' if row.paid else ''}"
