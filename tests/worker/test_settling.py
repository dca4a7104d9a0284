"""How attempts end that publish nothing: what the session, the index and the metrics then say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ebbtide_core import metrics
from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import After
from ebbtide_core.contract.record import RecordHeader, Usage
from ebbtide_core.errors import StoreUnavailable, SummaryRejected
from ebbtide_core.jsonio import pack
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import TakeStatus
from ebbtide_core.store.script import Call
from ebbtide_worker.ending import described
from ebbtide_worker.patience import Store
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import UNREAD, Chunk, FaultKind, SummariserFault
from ebbtide_worker.verdict import (
    NoProgress,
    SnapshotDamaged,
    SnapshotGone,
    Verdict,
    of_error,
)
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Clock, Database
from tests.store.session import stored_breaker
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted

FAILURES = sorted(set(FaultKind) - UNREAD)


def failing(kind: FaultKind) -> Callable[[Chunk], Awaitable[None]]:
    """Return what makes each call fail, charged with seven tokens."""

    async def fail(_: Chunk) -> None:
        raise SummariserFault(kind, "as told", Usage(input_tokens=7, calls=1))

    return fail


def ended(host: HostSide, database: Database) -> tuple[int, int, int]:
    """Return the newest version, the failures that the breaker counts, and what is left in the index."""
    view = host.turn()
    depth = host.store.run(fleet_calls.depth())
    assert view.claim is None, "the claim was not settled"
    return (
        view.newest.number,
        stored_breaker(database.hgetall(host.owner.state)).failures,
        depth.ready + depth.running,
    )


@pytest.mark.parametrize("kind", sorted(UNREAD))
async def test_a_provider_or_an_account_that_can_not_be_used_does_not_count(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    recorder: MemoryRecorder,
    database: Database,
    kind: FaultKind,
) -> None:
    """Rate limits, outages, time-outs and wrong keys end the claim and leave the breaker alone. No account
    is asked here: its limiter would wait for the clock.
    """
    scripted.model = ""
    scripted.before = failing(kind)
    host.enqueue(chat(20))

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", kind.value) == 1


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_call_that_gives_nothing_usable_counts(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    recorder: MemoryRecorder,
    database: Database,
    kind: FaultKind,
) -> None:
    """Refused, cut, empty and malformed answers change nothing but the breaker's count, and what was paid is
    told.
    """
    scripted.before = failing(kind)
    host.enqueue(chat(20))

    await work(shop)

    assert ended(host, database) == (0, 1, 0)
    assert recorder.total(metrics.JOBS, "failure", kind.value) == 1
    assert recorder.total(metrics.JOB_TOKENS, "input") == 7 * len(scripted.chunks)


async def test_three_failures_open_the_breaker(shop: Shop, host: HostSide, scripted: Scripted) -> None:
    """The third failure in a row opens the session's breaker."""
    scripted.before = failing(FaultKind.REFUSED)
    for _ in range(3):
        host.enqueue(chat(20))
        await work(shop)

    assert host.turn().breaker is BreakerState.OPEN


async def test_a_missing_segment_is_nobodys_fault(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """A job whose upload ran out pays nothing and settles neutral."""
    host.enqueue(chat(20))
    (segment,) = database.keys("*:seg:*")
    database.delete(segment)

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "snapshot_gone") == 1
    assert not scripted.chunks


async def test_a_missing_manifest_is_nobodys_fault(
    shop: Shop, host: HostSide, recorder: MemoryRecorder, database: Database
) -> None:
    """A job whose manifest ran out settles neutral."""
    host.enqueue(chat(20))
    (manifest,) = database.keys("*:man:*")
    database.delete(manifest)

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "snapshot_gone") == 1


@pytest.mark.parametrize(
    "content",
    [
        pack(b'[{"role":"user","content":[{"type":"text","text":"another history"}]}]'),
        pack(b"[[[]]]"),
        pack(b"not JSON"),
        b"not zstd",
    ],
)
@pytest.mark.parametrize("what", ["seg", "man"])
async def test_a_damaged_upload_is_nobodys_fault(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    recorder: MemoryRecorder,
    database: Database,
    what: str,
    content: bytes,
) -> None:
    """An upload that is not what the position names is never summarised, and settles neutral."""
    host.enqueue(chat(20))
    (key,) = database.keys(f"*:{what}:*")
    database.set(key, content, keepttl=True)

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "snapshot_damaged") == 1
    assert not scripted.chunks


async def test_a_summary_that_saves_too_little_counts_as_failure(
    shop: Shop, host: HostSide, recorder: MemoryRecorder, database: Database
) -> None:
    """A swap that would not make the request a tenth smaller is not published (law 9)."""
    order = host.order(chat(20))
    figures = order.figures.model_copy(update={"tail": int(0.89 * order.figures.projected)})
    host.enqueue(chat(20), figures=figures)

    await work(shop)

    assert ended(host, database) == (0, 1, 0)
    assert recorder.total(metrics.JOBS, "failure", "no_progress") == 1
    assert database.keys("*:memo:*") == []


async def test_an_unknown_summariser_counts_as_failure(
    shop: Shop, host: HostSide, recorder: MemoryRecorder, database: Database
) -> None:
    """A policy that names a summariser which the worker does not have would fail each time."""
    host.policy = small_policy(summariser="nobody")
    host.enqueue(chat(20))

    await work(shop)

    assert ended(host, database) == (0, 1, 0)
    assert recorder.total(metrics.JOBS, "failure", "unknown_summariser") == 1


async def test_a_bug_ends_one_attempt_and_tells_no_content(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    recorder: MemoryRecorder,
    database: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error of a kind nobody foresaw settles failure; the log has its type and place, not its words."""

    async def bug(_: Chunk) -> None:
        raise ZeroDivisionError("the user said: hush")

    scripted.before = bug
    host.enqueue(chat(20))

    await work(shop)

    assert ended(host, database) == (0, 1, 0)
    assert recorder.total(metrics.JOBS, "failure", "internal") == 1
    told = [record.__dict__["ebbtide"]["detail"] for record in caplog.records if "ebbtide" in record.__dict__]
    assert len(told) == 1
    assert told[0].startswith("ZeroDivisionError at ")
    assert "hush" not in str(told)


async def test_time_that_is_up_ends_the_calls_and_is_the_providers(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """A call that is under way at the job's deadline is cancelled, and is a time-out like any other."""
    scripted.model = ""
    tokenizer().count("loaded beforehand")
    scripted.before = lambda _: asyncio.Event().wait()  # type: ignore[assignment,return-value]
    host.enqueue(chat(20))

    await work(make_shop(job_deadline=1.0))

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "timeout") == 1
    assert scripted.running == 0


async def test_a_job_that_waited_out_its_deadline_is_not_begun(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database, clock: Clock
) -> None:
    """The wait in the index counts towards the job's deadline; running out there is neutral."""
    host.policy = small_policy(job_deadline=20.0)
    host.enqueue(chat(20))
    clock.advance(30)

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "too_old") == 1
    assert not scripted.chunks


async def test_a_job_that_waited_too_long_is_settled_by_the_next_taker(
    shop: Shop, host: HostSide, recorder: MemoryRecorder, database: Database, clock: Clock
) -> None:
    """A job past the queue age is dropped from the index and settled neutral."""
    host.enqueue(chat(20))
    clock.advance(121)

    assert await work(shop) == 0

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "too_old") == 1


async def test_a_store_that_goes_away_is_waited_for_once_however_many_jobs_were_too_old(
    make_shop: MakeShop, store: SyncStore, recorder: MemoryRecorder, clock: Clock
) -> None:
    """Else a drain would hold its slot for as many outages as there are jobs."""

    class GoesAway:
        def __init__(self, inner: Store) -> None:
            self.inner = inner
            self.refused = 0

        async def run(self, call: Call[Any]) -> Any:
            if call.script == "settle":
                self.refused += 1
                raise StoreUnavailable("gone")
            return await self.inner.run(call)

    for name in ("a", "b", "c"):
        HostSide(store, Owner("acme", name)).enqueue(chat(20))
    clock.advance(121)
    shop = make_shop(running_lease=0.001)
    shop.store = away = GoesAway(shop.store)

    await work(shop)

    assert away.refused == 1


async def test_a_fenced_job_is_not_begun(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """After a reset the old job pays nothing and settles neutral."""
    host.enqueue(chat(20))
    host.store.run(session_calls.reset(host.owner, fresh_incarnation="life-2", state_ttl=600))

    await work(shop)

    assert recorder.total(metrics.JOBS, "neutral", "fenced") == 1
    assert not scripted.chunks


async def test_a_publication_that_comes_too_late_is_refused_and_neutral(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """A session that was reset while the last call ran refuses the record; nothing is stored."""

    async def reset(_: Chunk) -> None:
        host.store.run(session_calls.reset(host.owner, fresh_incarnation="life-2", state_ttl=600))

    scripted.before = reset
    host.enqueue(chat(20))

    await work(shop)

    assert recorder.total(metrics.JOBS, "neutral", "fenced") == 1
    assert database.keys("*:rec:*") == []


async def test_a_newer_record_supersedes_what_was_being_made(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """A record that another worker published meanwhile stays; ours is refused, and nobody is blamed."""

    async def overtake(_: Chunk) -> None:
        header = RecordHeader(version=1, generation=0, position=order.cut.position, body="b" * 32)
        host.store.run(
            session_calls.publish(
                host.owner,
                record_bytes=b"theirs",
                header=header,
                after=After(number=0, body=""),
                incarnation="life-1",
                kept=5,
                state_ttl=600,
            )
        )

    scripted.before = overtake
    order = host.enqueue(chat(20))

    await work(make_shop(renew_every=60))

    assert recorder.total(metrics.JOBS, "neutral", "superseded") == 1
    assert ended(host, database) == (1, 0, 0)
    assert database.get(host.owner.record(1)) == b"theirs"


async def test_a_publication_whose_answer_was_lost_is_made_once(
    shop: Shop, host: HostSide, recorder: MemoryRecorder, database: Database
) -> None:
    """The store published, the answer was lost, the worker asks again: one version, a success."""

    class LosesTheAnswer:
        def __init__(self, store: Store) -> None:
            self._store = store
            self._lost = False

        async def run(self, call: Call[Any]) -> Any:
            answer = await self._store.run(call)
            if call.script == "publish" and not self._lost:
                self._lost = True
                raise StoreUnavailable("the answer was lost")
            return answer

    shop.store = LosesTheAnswer(shop.store)
    host.enqueue(chat(20))

    await work(shop)

    assert recorder.total(metrics.JOBS, "success", "duplicate") == 1
    assert ended(host, database) == (1, 0, 0)


async def test_an_unreachable_store_ends_the_drain_quietly(
    make_shop: MakeShop, host: HostSide, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker whose store is away takes nothing, raises nothing, and says so."""

    class Away:
        async def run(self, call: object) -> object:
            raise StoreUnavailable("gone fishing")

    shop = make_shop()
    shop.store = Away()  # type: ignore[assignment]

    assert await work(shop) == 0
    assert "gone fishing" in caplog.text


async def test_a_worker_that_stops_settles_what_it_can_not_hand_back(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """When the grace is over, running calls are cancelled; the claim of one that lost its lease is given back
    to the host.
    """

    async def expire(_: Chunk) -> None:
        host.store.run(fleet_calls.forget_member(host.owner))
        shop.stopping.set()
        shop.expired.set()
        await asyncio.Event().wait()

    scripted.before = expire
    host.enqueue(chat(20))

    await work(shop)

    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "worker_stopped") == 1
    assert scripted.running == 0


async def test_a_tenant_at_its_cap_gets_no_more(make_shop: MakeShop, host: HostSide) -> None:
    """A worker takes no job of a tenant that has as many running as it may."""
    host.enqueue(chat(20))
    HostSide(host.store, owner=Owner.of("acme", "second")).enqueue(chat(20))
    taken = host.store.run(fleet_calls.take("other", lease=30, max_queue_age=120, ttl=600))
    assert taken.status is TakeStatus.JOB

    assert await work(make_shop(tenant_cap=1)) == 0
    assert await work(make_shop(tenant_cap=2)) == 1


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (SummaryRejected(["bad"]), Verdict(Outcome.FAILURE, "rejected")),
        (NoProgress(["small"]), Verdict(Outcome.FAILURE, "no_progress")),
        (SnapshotGone("x"), Verdict(Outcome.NEUTRAL, "snapshot_gone")),
        (SnapshotDamaged("x"), Verdict(Outcome.NEUTRAL, "snapshot_damaged")),
        (StoreUnavailable("x"), Verdict(Outcome.NEUTRAL, "store_unavailable")),
        (ValueError("x"), Verdict(Outcome.FAILURE, "internal")),
    ],
)
def test_each_error_has_one_verdict(error: Exception, verdict: Verdict) -> None:
    """The map from errors to outcomes is one function."""
    assert of_error(error) == verdict


def test_our_own_errors_are_logged_in_their_words() -> None:
    """Ebbtide's errors hold no content, so their sentence is logged."""
    assert described(SnapshotGone("the manifest is gone")) == "the manifest is gone"
