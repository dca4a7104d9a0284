"""The rehearsals: what each row of the table says is found in requests, store, metrics and log."""

from __future__ import annotations

from collections import Counter

import pytest

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus, SummaryRecord
from tests.standin import Kind
from tests.store.leaks import keys_without_ttl
from tests.worker.faults.rehearsal import CHUNKS, WORD, Seen, maps, rehearse
from tests.worker.faults.scene import KEY, Scene
from tests.worker.faults.table import TABLE, Memos, Row, Where

pytestmark = pytest.mark.processes

MEMOS = {Memos.ALL: CHUNKS, Memos.OTHERS: CHUNKS - 1, Memos.NONE: 0}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.fault.kind}-{row.end.reason}-{row.where}")
def test_a_fault_ends_as_the_table_says(scene: Scene, row: Row) -> None:
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


def assert_asked(seen: Seen, row: Row) -> None:
    """Each call is made once, whatever it meets; a merge only when all chunks are there."""
    assert len(maps(seen.requests)) == CHUNKS
    assert len(seen.met(row)) == (CHUNKS if row.where is Where.CHUNKS else 1)
    merges = len(seen.requests) - CHUNKS
    assert merges == (1 if row.where is not Where.CHUNK or row.end.published else 0)


def assert_store(scene: Scene, seen: Seen, row: Row) -> None:
    """Version, breaker, memos; the claim is free, and no key stays for ever."""
    assert seen.version == (1 if row.end.published else 0)
    assert seen.failures == (1 if row.end.outcome == "failure" else 0)
    assert seen.memos == MEMOS[row.end.memos]
    assert not seen.claimed
    assert keys_without_ttl(scene.data) == []


def assert_record(record: SummaryRecord, row: Row) -> None:
    """What is published covers all that it replaces; what code knows for certain is the source's."""
    summary = record.summary
    assert {chunk.status for chunk in record.coverage} == {ChunkStatus.SUMMARISED}
    assert len(record.coverage) == CHUNKS
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
    """One job is counted, with its labels; each chunk that was done; each token that was charged, once."""
    done = CHUNKS - 1 if row.where is Where.CHUNK and not row.end.published else CHUNKS
    assert seen.count(metrics.JOBS) == Counter({(row.end.outcome, row.end.reason): 1})
    assert seen.count(metrics.CHUNKS) == Counter({("summarised",): done})
    assert seen.count(metrics.JOB_TOKENS) == seen.paid()
    assert [entry["usage"] is not None for entry in seen.met(row)] == [row.paid] * len(seen.met(row))


def assert_silent(scene: Scene, seen: Seen) -> None:
    """The worker goes on, and its log tells neither content nor key nor anything unforeseen."""
    assert scene.alive
    assert seen.said.count("job ended: ") == 1
    for secret in (KEY, WORD, "PWNED", "Traceback"):
        assert secret not in seen.said
