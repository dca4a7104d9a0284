"""The background work: claim, upload, enqueue and permit, and errands, on one thread a pool, bounded, off the
turn's path."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from weakref import WeakSet

from ebbtide.errand import Errand
from ebbtide.gate import Gate
from ebbtide.turns.memory import Held, Mailbox
from ebbtide.turns.order import BufferChanged, Order, Upload, upload
from ebbtide.turns.refused import Refused, pause
from ebbtide_core import metrics
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.errors import EbbtideError, StoreUnavailable
from ebbtide_core.metrics import Recorder
from ebbtide_core.names import Owner
from ebbtide_core.policy import queue_lease
from ebbtide_core.store import blob_calls, fleet_calls, session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import PLAIN, Codec, seal
from ebbtide_core.store.results import ClaimResult, ClaimStage, ClaimStatus
from ebbtide_core.store.script import Call

log = logging.getLogger("ebbtide.courier")

UPLOAD_BYTES: Final = 4 << 20
QUEUE_SIZE: Final = 1_000
"""Orders that may wait; one more is turned away and made again by the session's next turn."""


class Permits(Protocol):
    """Sends permits to workers."""

    def send(self, number: int = 1) -> None:
        """Send permits."""

    def close(self) -> None:
        """Close connections."""


_COURIERS: Final[WeakSet[Courier]] = WeakSet()


def _forked() -> None:
    for courier in list(_COURIERS):
        courier.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@dataclass(frozen=True, slots=True)
class _Parcel:
    order: Order
    mailbox: Mailbox


class Courier:
    """Takes orders from turns and carries them out one after the other; faults are counted and told to the
    next turn.

    Errands keep off a store that does not answer: while the turns' `gate` is closed, or after a fault of an
    errand, they are turned away. `clock` tells seconds of the monotonic clock that the turns go by.
    """

    def __init__(
        self,
        store: SyncStore,
        permits: Permits,
        recorder: Recorder,
        codec: Codec = PLAIN,
        gate: Gate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._permits = permits
        self._recorder = recorder
        self._codec = codec
        self._clock = clock
        self._turns_gate, self._own_gate = gate or Gate(), Gate()
        self._under_way: set[Mailbox] = set()
        self._closed = False
        self._begin()
        _COURIERS.add(self)

    def _begin(self) -> None:
        self._parcels: queue.Queue[_Parcel | Errand | None] = queue.Queue(QUEUE_SIZE)
        self._idle = threading.Condition(threading.RLock())
        self._open = 0
        self._thread: threading.Thread | None = None

    def forked(self) -> None:
        """Begin anew in a child process: the thread, and what it was to carry out, stayed with the parent."""
        self._begin()
        for mailbox in self._under_way:
            mailbox.begin_anew()
        self._under_way.clear()

    def submit(self, order: Order, mailbox: Mailbox) -> bool:
        """Take an order; False when the session has one under way, too many wait, or the pool is closed."""
        return mailbox.begin() and self._taken(_Parcel(order, mailbox))

    def post(self, call: Call[Any]) -> bool:
        """Take a store call whose answer nobody waits for; False when too many wait or the pool is closed.

        A fault of it is counted and logged, and goes no further.
        """
        return self._taken(Errand("store", lambda store: store.run(call)))

    def run(self, errand: Errand) -> bool:
        """Take an errand; False, and nobody is told, while the store does not answer or the pool is closed,
        and when too many wait."""
        return self._store_answers() and not self._closed and self._taken(errand)

    def _store_answers(self) -> bool:
        now = self._clock()
        return self._turns_gate.is_open(now) and self._own_gate.is_open(now)

    def _taken(self, parcel: _Parcel | Errand) -> bool:
        with self._idle:
            self._open += 1
            if isinstance(parcel, _Parcel):
                self._under_way.add(parcel.mailbox)
            if self._closed:
                return self._turned_away(parcel, "courier: the pool is closed")
            if self._thread is None and not self._started():
                return self._turned_away(parcel, "courier: no thread could be started")
        try:
            self._parcels.put_nowait(parcel)
        except queue.Full:
            return self._turned_away(parcel, "courier: too many orders wait")
        return True

    def _started(self) -> bool:
        thread = threading.Thread(target=self._run, name="ebbtide-courier", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process has as many threads as it may
            return False
        self._thread = thread
        return True

    def _turned_away(self, parcel: _Parcel | Errand, why: str) -> bool:
        if isinstance(parcel, _Parcel):
            self._done(parcel.mailbox, fault=why)
        else:
            self._ran(why)
        return False

    def flush(self, timeout: float) -> bool:
        """Wait until no order is under way; False when `timeout` seconds did not suffice."""
        with self._idle:
            return self._idle.wait_for(lambda: self._open == 0, timeout)

    def close(self, timeout: float) -> None:
        """Finish what is under way, at most `timeout` seconds, and end the thread; take no more orders."""
        deadline = time.monotonic() + timeout
        with self._idle:
            self._closed = True
            thread, self._thread = self._thread, None
        self.flush(timeout)
        self._drop_waiting()
        if thread is not None:
            self._parcels.put(None)
            thread.join(max(0.0, deadline - time.monotonic()))
        self._permits.close()
        self._store.close()

    def _drop_waiting(self) -> None:
        """Turn away what no time was left for, so that the thread ends after the order it has in hand."""
        with contextlib.suppress(queue.Empty):
            while parcel := self._parcels.get_nowait():
                self._turned_away(parcel, "courier: the pool is closed")

    def _run(self) -> None:
        while (parcel := self._parcels.get()) is not None:
            if isinstance(parcel, _Parcel):
                self._carry(parcel)
            else:
                self._run_errand(parcel)

    def _run_errand(self, errand: Errand) -> None:
        """Run an errand. Whatever goes wrong ends here."""
        if not self._store_answers():
            self._ran(f"{errand.place}: not asked, since the state store did not answer a moment ago")
            return
        began, fault = self._clock(), ""
        try:
            errand.run(self._store)
        except EbbtideError as error:
            fault = f"{errand.place}: {error}"
            if isinstance(error, StoreUnavailable):
                self._own_gate.fault(began, self._clock())
        except Exception as error:  # noqa: BLE001  no errand may end the thread
            fault = f"{errand.place}: {type(error).__name__}"
        else:
            self._own_gate.success()
        self._ran(fault)

    def _ran(self, fault: str) -> None:
        if fault:
            self._recorder.count(metrics.HOST_FAULTS, where=fault.partition(":")[0])
            log.warning("an errand was not carried out", extra={"ebbtide": {"fault": fault}})
        self._ended()

    def _ended(self) -> None:
        with self._idle:
            self._open -= 1
            self._idle.notify_all()

    def _carry(self, parcel: _Parcel) -> None:
        """Carry one order out. Whatever goes wrong ends here: compaction is advisory to the host."""
        status: ClaimStatus | None = None
        refused: Refused | None = None
        fault, stale = "", False
        try:
            status, refused = self._place(parcel.order, parcel.mailbox)
        except BufferChanged as error:
            fault, stale = f"upload: {error}", True
        except EbbtideError as error:
            fault = f"store: {error}"
        except Exception as error:  # noqa: BLE001  broker clients' errors have no common base
            fault = f"broker: {type(error).__name__}"  # its words may quote the URL
        self._done(parcel.mailbox, status, fault, stale, refused)

    def _done(
        self,
        mailbox: Mailbox,
        status: ClaimStatus | None = None,
        fault: str = "",
        stale: bool = False,
        refused: Refused | None = None,
    ) -> None:
        if fault:
            log.warning("an order was not carried out", extra={"ebbtide": {"fault": fault}})
        self._under_way.discard(mailbox)
        mailbox.end(status, fault, stale, refused)
        self._ended()

    def _place(self, order: Order, mailbox: Mailbox) -> tuple[ClaimStatus, Refused | None]:
        if mailbox.held is not None:
            self._give_back(order, mailbox.held)
            mailbox.held = None
        claim = self._store.run(_claim_call(order))
        self._recorder.count(metrics.CLAIMS, status=claim.status.value)
        if claim.status is ClaimStatus.OWN:
            mailbox.held = held = Held(order.incarnation, order.generation, order.job_id, claim.epoch)
            refused = self._enqueue(order, claim, held)
            mailbox.held = None
            if refused is not None:
                return claim.status, refused
            self._announce(order)
        elif claim.stage is ClaimStage.QUEUED and order.urgency is Urgency.HI:
            self._store.run(fleet_calls.raise_urgency(order.owner))
        return claim.status, None

    def _enqueue(self, order: Order, claim: ClaimResult, held: Held) -> Refused | None:
        """Upload and enqueue; a job that is not admitted gives its claim back."""
        assert claim.after is not None  # noqa: S101  OWN always tells `after`
        parcel = upload(order)
        manifest_id = parcel.manifest.name()
        self._put(order, parcel, manifest_id)
        job = order.job(claim.epoch, claim.after, manifest_id)
        answer = self._store.run(fleet_calls.enqueue(job, ttl=order.policy.state_ttl))
        if answer.reason is not None:
            self._give_back(order, held)
            return self._refused(order, answer.reason, claim.epoch)
        lease = queue_lease(order.policy.max_queue_age, order.policy.tick)
        self._store.run(session_calls.queued(order.owner, job_id=job.job_id, epoch=job.epoch, lease=lease))
        return None

    def _refused(self, order: Order, reason: Refusal, epoch: int) -> Refused:
        self._recorder.count(metrics.REFUSALS, reason=reason.value)
        return Refused(reason, self._clock() + pause(order.owner, epoch))

    def _announce(self, order: Order) -> None:
        self._permits.send()
        self._recorder.count(metrics.PERMITS, what="sent_by_host")
        self._store.run(tally_calls.tally_add(order.owner, tally_calls.ENQUEUED, ttl=order.policy.state_ttl))

    def _put(self, order: Order, parcel: Upload, manifest_id: str) -> None:
        """Upload what is missing, the manifest together with the last segments."""
        ttl, owner = order.policy.upload_ttl, order.owner
        contents = {owner.segment(name): content for name, content in parcel.contents.items()}
        absent: dict[str, bytes] = {}
        for keys in _batches(contents):
            if absent:
                self._store.run(blob_calls.put(absent, ttl=ttl))
            missing = self._store.run(blob_calls.missing(keys, ttl=ttl))
            absent = {key: self._sealed(owner, contents[key]) for key in missing}
        absent[owner.manifest(manifest_id)] = self._sealed(owner, parcel.manifest.to_json())
        self._store.run(blob_calls.put(absent, ttl=ttl))

    def _sealed(self, owner: Owner, document: bytes) -> bytes:
        return seal(self._codec, owner.tenant, document)

    def _give_back(self, order: Order, held: Held) -> None:
        """End a claim whose job may never have reached the index, so that a new one need not wait for its
        lease."""
        self._store.run(
            session_calls.settle(
                order.owner,
                incarnation=held.incarnation,
                generation=held.generation,
                job_id=held.job_id,
                epoch=held.epoch,
                attempt=0,
                outcome=Outcome.NEUTRAL,
                breaker_failures=order.policy.breaker_failures,
                state_ttl=order.policy.state_ttl,
            )
        )


def _claim_call(order: Order) -> Call[ClaimResult]:
    return session_calls.claim(
        order.owner,
        incarnation=order.incarnation,
        generation=order.generation,
        job_id=order.job_id,
        position=order.cut.position,
        new_tokens=order.new_tokens,
        min_new_tokens=order.min_new_tokens,
        waits=order.waits,
        urgency=order.urgency,
        lease=order.policy.claim_lease,
        state_ttl=order.policy.state_ttl,
    )


def _batches(contents: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Split keys so that no single upload holds the store up: each batch has at most a few megabytes."""
    batch: list[str] = []
    size = 0
    for key, content in contents.items():
        if batch and size + len(content) > UPLOAD_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(key)
        size += len(content)
    if batch:
        yield batch
