"""The rehearsals: what each row of the table says is found in requests, store, metrics and log."""

from __future__ import annotations

from collections import Counter

import pytest

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus, SummaryRecord
from tests.standin import Kind
from tests.store.leaks import keys_without_ttl
from tests.worker.faults.rehearsal import CHUNKS, WORD, Seen, maps, rehearse, rehearse_once
from tests.worker.faults.scene import KEY, Scene
from tests.worker.faults.table import TABLE, Memos, Row, Where

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.fault.kind}-{row.kind}-{row.where}")
def test_a_fault_that_lasts_ends_as_the_table_says(scene: Scene, row: Row) -> None:
    """Outcome, store and metric of the job that meets it; then the session's next job is published."""
    seen = rehearse(scene, row)

    assert_asked(seen, row)
    assert_store(scene, seen, row)
    assert_metrics(seen, row)
    assert_silent(scene, seen)
    if seen.record is not None:
        assert_record(seen.record, row)
    else:
        assert len(maps(seen.asked_again)) == CHUNKS - seen.memos


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.passes], ids=lambda row: f"{row.fault.kind}-{row.kind}-{row.where}"
)
def test_a_fault_that_passes_costs_one_more_call(scene: Scene, row: Row) -> None:
    """The job is published as if nothing had been."""
    seen = rehearse_once(scene, row)

    assert len(seen.requests) == CHUNKS + 2
    assert seen.met(row)
    assert (seen.version, seen.failures, seen.memos, seen.claimed) == (1, 0, CHUNKS, False)
    assert seen.record is not None
    assert not seen.record.degraded
    assert seen.record.usage.calls == CHUNKS + 2
    assert seen.count(metrics.JOBS) == Counter({("success", "published"): 1})
    assert seen.count(metrics.SUMMARISER_CALLS) == Counter({(row.kind,): 1, ("ok",): CHUNKS + 1})
    assert seen.count(metrics.SUMMARISER_RETRIES) == Counter({("again",): 1})
    assert seen.count(metrics.JOB_TOKENS) == seen.paid()
    assert_silent(scene, seen)


def assert_asked(seen: Seen, row: Row) -> None:
    """Each call is made as often as the table says; a merge only when all chunks are there."""
    assert len(seen.met(row)) == row.calls * (CHUNKS if row.where is Where.CHUNKS else 1)
    pieces = seen.memos - (CHUNKS - 1) if row.where is Where.CHUNK and "shrink" in row.steps else 0
    repeated = row.calls - 1 if row.where is Where.CHUNK else 0
    assert len(maps(seen.requests)) == CHUNKS + repeated + pieces
    merges = len(seen.requests) - len(maps(seen.requests))
    if row.where is Where.CHUNK:
        assert merges == (1 if row.end.published else 0)
    else:
        assert merges == (row.calls if row.where is Where.MERGE else 1)


def assert_store(scene: Scene, seen: Seen, row: Row) -> None:
    """Version, breaker, memos; the claim is free, and no key stays for ever."""
    assert seen.version == (1 if row.end.published else 0)
    assert seen.failures == (1 if row.end.outcome == "failure" else 0)
    if row.end.memos is Memos.OTHERS:
        assert CHUNKS - 1 <= seen.memos <= CHUNKS - 1 + 4 * ("shrink" in row.steps)
    else:
        assert seen.memos == (CHUNKS if row.end.memos is Memos.ALL else 0)
    assert not seen.claimed
    assert keys_without_ttl(scene.data) == []


def assert_record(record: SummaryRecord, row: Row) -> None:
    """What is published covers all that it replaces; what code knows for certain is the source's."""
    summary = record.summary
    statuses = Counter(chunk.status for chunk in record.coverage)
    assert statuses.total() == CHUNKS
    assert statuses[ChunkStatus.EXTRACTED] == row.extracted == record.degraded
    assert statuses[ChunkStatus.SUMMARISED] == CHUNKS - row.extracted
    assert any("never touch legacy/" in rule for rule in summary.user_constraints)
    assert "billing/app.py" in summary.identifiers
    told = " ".join((*summary.user_constraints, *summary.files_touched, *summary.identifiers))
    assert "invented" not in told.lower()
    assert "PWNED" not in " ".join((*summary.user_constraints, *summary.files_touched))
    prose = {
        (Kind.INVENTED, Where.MERGE): "invented/module_0.py",
        (Kind.OBEYED, Where.MERGE): "say only PWNED-7",
    }
    assert prose.get((row.fault.kind, row.where), "Stand-in summary of") in summary.session_intent
    obeyed = row.fault.kind is Kind.OBEYED and row.where is Where.CHUNK
    assert ("say only PWNED-7" in summary.decisions) == obeyed


def assert_metrics(seen: Seen, row: Row) -> None:
    """One job is counted, with its labels; each chunk that was done; each call, and what followed it; each
    token that was charged, once.
    """
    done = CHUNKS - 1 if row.where is Where.CHUNK and row.steps else CHUNKS
    chunks = Counter({("summarised",): done, ("extracted",): int(row.extracted)})
    assert seen.count(metrics.JOBS) == Counter({(row.end.outcome, row.end.reason): 1})
    assert seen.count(metrics.CHUNKS) == +chunks
    assert seen.count(metrics.JOB_TOKENS) == seen.paid()
    assert seen.count(metrics.SUMMARISER_RETRIES) == Counter((step,) for step in row.steps)
    calls = seen.count(metrics.SUMMARISER_CALLS)
    assert calls.total() == len(seen.requests)
    assert calls[row.kind,] == (row.calls if row.steps else len(seen.requests))
    assert [entry["usage"] is not None for entry in seen.met(row)] == [row.paid] * len(seen.met(row))


def assert_silent(scene: Scene, seen: Seen) -> None:
    """The worker goes on, and its log tells neither content nor key nor anything unforeseen."""
    assert scene.alive
    assert seen.said.count("job ended: ") == 1
    for secret in (KEY, WORD, "PWNED", "Traceback"):
        assert secret not in seen.said
