"""What each failure of the provider does, one row each: rehearsed, and shown in the documentation."""

from __future__ import annotations

from collections.abc import Iterator
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
    OTHERS = "the other chunks' memos stay"
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
    """A fault, where it is met, how it ends. `paid`: the provider charges for the call, and tells so.

    `called`: what the fault is, if it is not what its kind means. `note`: what more there is to know.
    `planted`: a chunk's notes quote an order to the model, so that the merge can obey it.
    """

    fault: Behaviour
    where: Where
    end: End
    paid: bool = False
    called: str = ""
    note: str = ""
    planted: bool = False

    @property
    def name(self) -> str:
        """The fault in one line."""
        return self.called or f"`{self.fault.kind.value}`: {MEANING[self.fault.kind]}"


def _neutral(kind: Kind, reason: str, called: str = "", **more: object) -> Iterator[Row]:
    """The provider's own trouble: nothing is held against the session, what was paid stays."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    yield Row(fault, Where.CHUNK, End("neutral", reason, Memos.OTHERS), called=called)
    yield Row(fault, Where.MERGE, End("neutral", reason, Memos.ALL), called=called)


def _refused(
    kind: Kind, reason: str, called: str = "", *, merged: Memos = Memos.NONE, **more: object
) -> Iterator[Row]:
    """An error or a page instead of an answer, that another attempt would meet again. Not paid."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    yield Row(fault, Where.CHUNK, End("failure", reason, Memos.OTHERS), called=called)
    yield Row(fault, Where.MERGE, End("failure", reason, merged), called=called)


def _unusable(kind: Kind, reason: str, called: str = "", **more: object) -> Iterator[Row]:
    """An answer that is no summary, and is paid."""
    fault = Behaviour.model_validate({"kind": kind, **more})
    yield Row(fault, Where.CHUNK, End("failure", reason, Memos.OTHERS), paid=True, called=called)
    yield Row(fault, Where.MERGE, End("failure", reason, Memos.NONE), paid=True, called=called)


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

TABLE: Final[tuple[Row, ...]] = (
    *_published(Kind.GOOD, *_BOTH),
    *_published(Kind.FENCED, *_BOTH, note="the fence is taken off"),
    # the provider's own trouble
    *_neutral(Kind.RATE_LIMITED, "rate_limited"),
    *_neutral(Kind.RAMP_LIMIT, "rate_limited"),
    *_neutral(Kind.SPEND_LIMIT, "rate_limited"),
    *_neutral(Kind.CONTRACT_LIMIT, "rate_limited"),
    *_neutral(Kind.USAGE_LIMIT, "rate_limited"),
    *_neutral(Kind.SERVER_ERROR, "unavailable"),
    *_neutral(Kind.UNAVAILABLE, "unavailable"),
    *_neutral(Kind.OVERLOADED, "unavailable"),
    *_neutral(Kind.COMPACTION_UNAVAILABLE, "unavailable"),
    *_neutral(Kind.HTML, "unavailable", "`html` 502: a gateway's page", status=502),
    *_neutral(Kind.DROP, "unavailable"),
    *_neutral(Kind.CUT, "unavailable"),
    *_neutral(Kind.GATEWAY_TIMEOUT, "timeout"),
    *_neutral(Kind.HANG, "timeout"),
    # requests that would be refused again
    *_refused(Kind.UNAUTHORIZED, "auth", merged=Memos.ALL),
    *_refused(Kind.BILLING, "auth", merged=Memos.ALL),
    *_refused(Kind.FORBIDDEN, "auth", merged=Memos.ALL),
    *_refused(Kind.BAD_REQUEST, "bad_request"),
    *_refused(Kind.NOT_FOUND, "bad_request"),
    *_refused(Kind.STATUS, "bad_request", "`status` 422: any other 4xx", status=422),
    *_refused(Kind.PROMPT_TOO_LONG, "too_long"),
    *_refused(Kind.TOO_LARGE, "too_long"),
    *_refused(Kind.HTML, "unexpected", "`html`: a web page with status 200"),
    *_refused(Kind.NULL, "unexpected"),
    # answers that are no summary
    *_unusable(Kind.TRUNCATED, "truncated"),
    *_unusable(Kind.REFUSAL, "refused"),
    *_unusable(Kind.TOOL_CALL, "tool_call"),
    *_unusable(
        Kind.STOP,
        "too_long",
        "`stop`: half an answer, the window is full",
        stop_reason="model_context_window_exceeded",
    ),
    *_unusable(
        Kind.STOP,
        "unexpected",
        "`stop`: any other stop reason, such as `pause_turn`",
        stop_reason="pause_turn",
    ),
    *_unusable(Kind.PROSE, "not_json"),
    *_unusable(Kind.TEXT, "empty", "`text`: blanks", text=" "),
    *_unusable(Kind.EMPTY, "empty"),
    *_unusable(Kind.MISSING, "schema"),
    *_unusable(Kind.GOOD, "schema", "`good`, a field of a wrong type", fields={"session_intent": ["a list"]}),
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

HEAD: Final = ("fault", "outcome", "store", "metric")

_BREAKER: Final = {"success": "a version", "neutral": "breaker as before", "failure": "breaker counts one"}


def markdown() -> str:
    """Return the table for people: one line for what ends alike in a chunk's call and in the merge's."""
    lines: dict[tuple[str, ...], list[Row]] = {}
    for row in TABLE:
        fault = f"{row.name}, in {row.where.value}" if row.where is Where.CHUNKS else row.name
        lines.setdefault((fault, _outcome(row), _metric(row)), []).append(row)
    cells = [(fault, outcome, _store(rows), metric) for (fault, outcome, metric), rows in lines.items()]
    table = [HEAD, tuple("---" for _ in HEAD), *cells]
    return "\n".join(f"| {' | '.join(each)} |" for each in table)


def _outcome(row: Row) -> str:
    told = "published" if row.end.published else row.end.outcome
    return f"{told}; {row.note}" if row.note else told


def _store(rows: list[Row]) -> str:
    memos = {row.where: row.end.memos for row in rows}
    merged = memos.get(Where.MERGE, memos.get(Where.CHUNKS))
    gone = "memos deleted" if Where.CHUNKS in memos else "memos stay, in the merge they are deleted"
    return f"{_BREAKER[rows[0].end.outcome]}; {gone if merged is Memos.NONE else 'memos stay'}"


def _metric(row: Row) -> str:
    return f"`{row.end.outcome}`, `{row.end.reason}`{'; tokens' if row.paid else ''}"
