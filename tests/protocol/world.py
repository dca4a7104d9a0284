"""One session with hosts, workers, broker and store, and everything that may happen to them, as actions."""

from __future__ import annotations

import copy
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from ebbtide_core.breaker import Outcome
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from tests.protocol import invariants
from tests.protocol.conversation import Message
from tests.protocol.ground import MAX_QUEUE_AGE, STATE_TTL, TICK, Ground
from tests.protocol.hosts import Host
from tests.protocol.invariants import Payments, Publications
from tests.protocol.model_index import attempt_of
from tests.protocol.workers import Run, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from ebbtide_core.store.results import CancelResult, ClaimResult, PublishStatus, SweepResult
    from tests.protocol.hosts import Did
    from tests.protocol.model_session import State
    from tests.protocol.stores import ModelStore, Store

P = ParamSpec("P")
R = TypeVar("R")

OWNER: Final = Owner("a:b", "c")
RAW_HOSTS: Final = (True, False, False)
"""Host 0 keeps the whole history, hosts 1 and 2 keep their buffer."""

WORKERS: Final = 3


def action(
    method: Callable[Concatenate[World, P], R],
) -> Callable[Concatenate[World, P], R]:
    """Mark a method as one step of a schedule, after which the laws are checked."""

    @wraps(method)
    def step(world: World, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result = method(world, *args, **kwargs)
        world.check()
        return result

    return step


class World:
    """Three hosts of one session, three workers. An action that makes no sense at the moment does nothing."""

    def __init__(
        self,
        store: Store,
        *,
        host: type[Host] = Host,
        worker: type[Worker] = Worker,
        owner: Owner = OWNER,
    ) -> None:
        self.ground = Ground(store, owner)
        self.hosts = [host(i, raw, self.ground) for i, raw in enumerate(RAW_HOSTS)]
        self.workers = [worker(k, self.ground) for k in range(WORKERS)]
        self.publications = Publications()
        self.payments = Payments()

    @property
    def store(self) -> Store:
        """The store that everything here runs against."""
        return self.ground.store

    @property
    def state(self) -> State:
        """The session's state, which must be there."""
        state = self.store.state(self.ground.owner)
        assert state is not None, "the session has no state"
        return state

    def on(self, model: ModelStore) -> World:
        """Return a copy of this world, which goes on by itself on a copy of the model."""
        store = copy.deepcopy(model)
        return copy.deepcopy(self, {id(self.store): store, id(model): store})

    def check(self) -> None:
        """Check the laws that hold at any moment."""
        for host in self.hosts:
            invariants.buffer_stands_for_lineage(host.talk)
        self.publications.seen(self.store.state(self.ground.owner))

    def runs(self) -> list[Run]:
        """Return the runs that are going on."""
        return [worker.run for worker in self.workers if worker.run]

    @action
    def say(self, i: int, size: int = 1) -> None:
        """Host i appends one message."""
        self.hosts[i].talk.say(Message(self.ground.number(), size))

    @action
    def grow(self, i: int, messages: int) -> None:
        """Host i appends small messages."""
        for _ in range(messages):
            self.hosts[i].talk.say(Message(self.ground.number()))

    @action
    def edit(self, i: int, back: int, *, cut: bool = False) -> None:
        """Host i changes the message `back` before its last, or rewinds to it."""
        self.hosts[i].talk.edit(back, self.ground.number(), cut=cut)

    @action
    def turn(self, i: int, *, swaps: bool = True) -> Did:
        """Host i asks the store what is there, and swaps; without `swaps` its policy waits."""
        return self.hosts[i].turn(swaps=swaps)

    @action
    def claim(self, i: int) -> ClaimResult | None:
        """Host i claims what its last turn found due."""
        return self.hosts[i].claim()

    @action
    def upload(self, i: int) -> None:
        """Host i uploads the claimed job."""
        self.hosts[i].upload()

    @action
    def enqueue(self, i: int) -> None:
        """Host i uploads and enqueues the claimed job."""
        self.hosts[i].enqueue()

    @action
    def confirm(self, i: int) -> None:
        """Host i tells the session that its job is in the index."""
        self.hosts[i].confirm()

    @action
    def host(self, i: int) -> None:
        """Host i does all that a turn can come to."""
        host = self.hosts[i]
        host.turn()
        host.claim()
        host.enqueue()
        host.confirm()

    @action
    def save(self, i: int) -> None:
        """Host i stores its conversation."""
        self.hosts[i].save()

    @action
    def restart(self, i: int, *, old: bool = False) -> None:
        """Host i starts again, with the conversation it had or the one it stored."""
        self.hosts[i].restart(old)

    @action
    def take_over(self, i: int, other: int) -> None:
        """Host i carries the session of another host on."""
        self.hosts[i].take_over(self.hosts[other])

    @action
    def catch_up(self, i: int, other: int) -> None:
        """Host i appends what another host has more."""
        self.hosts[i].catch_up(self.hosts[other])

    @action
    def reset(self) -> None:
        """Someone resets the session."""
        fresh = self.ground.fresh_incarnation()
        self.store.run(session_calls.reset, self.ground.owner, fresh_incarnation=fresh, state_ttl=STATE_TTL)

    @action
    def cancel(self) -> CancelResult:
        """Someone cancels the compaction under way."""
        owner = self.ground.owner
        ended = self.store.run(session_calls.cancel, owner, state_ttl=STATE_TTL)
        if ended.ended:
            self.store.run(
                fleet_calls.unqueue,
                owner,
                incarnation=ended.incarnation,
                generation=ended.generation,
                epoch=ended.epoch,
            )
        return ended

    @action
    def withdraw(self) -> None:
        """Someone withdraws the newest record."""
        state = self.store.state(self.ground.owner)
        if state and state.newest.number:
            self.store.run(session_calls.withdraw, self.ground.owner, state.newest.number)

    @action
    def take(self, k: int) -> None:
        """Worker k spends a permit."""
        self.workers[k].take()

    @action
    def guard(self, k: int) -> None:
        """Worker k asks before it starts."""
        self.workers[k].guard()

    @action
    def pay(self, k: int, *, good: bool = True) -> None:
        """Worker k renews and pays for its chunks."""
        self.workers[k].pay(self.payments, self.runs(), good=good)

    @action
    def renew(self, k: int) -> None:
        """Worker k renews."""
        self.workers[k].renew()

    @action
    def finish(self, k: int, outcome: Outcome = Outcome.SUCCESS) -> PublishStatus | None:
        """Worker k ends its run: a success is validated and published."""
        return self.workers[k].finish(self.publications, outcome)

    @action
    def publish(self, k: int) -> PublishStatus | None:
        """Worker k publishes, but the reply is lost: it goes on."""
        return self.workers[k].publish(self.publications)

    @action
    def crash(self, k: int) -> None:
        """Worker k is killed."""
        self.workers[k].crash()

    @action
    def hand_back(self, k: int) -> None:
        """Worker k stops and hands its run to the next."""
        self.workers[k].hand_back()

    @action
    def late(self, k: int) -> None:
        """What worker k said before it handed its run back arrives."""
        self.workers[k].late()

    @action
    def work(self, k: int) -> None:
        """Worker k takes a job, starts it, and pays for it."""
        self.workers[k].take()
        self.workers[k].guard()
        self.workers[k].pay(self.payments, self.runs(), good=True)

    @action
    def round(self, i: int, k: int = 0, outcome: Outcome = Outcome.SUCCESS, *, good: bool = True) -> None:
        """One whole job: host i and worker k. Not `good`: what is paid for will fail validation."""
        self.host(i)
        self.tick()
        self.take(k)
        self.guard(k)
        self.pay(k, good=good and outcome is Outcome.SUCCESS)
        self.finish(k, outcome)

    @action
    def tick(self) -> SweepResult:
        """One worker does maintenance: put back, settle, and send permits up to the free slots."""
        swept = self.store.run(fleet_calls.sweep, tick=TICK, max_queue_age=MAX_QUEUE_AGE, ttl=STATE_TTL)
        for job in swept.lost:
            self.ground.settle(job, Outcome.FAILURE)
        for job in swept.too_old:
            self.ground.settle(job, Outcome.NEUTRAL)
        self.ground.permits += min(swept.waiting, WORKERS - len(self.runs()))
        return swept

    @action
    def time(self, seconds: float) -> None:
        """Time passes on the server; set back if negative."""
        self.store.pass_time(seconds)
        self._note_lapsed()

    @action
    def permits_lost(self) -> None:
        """The broker forgets its messages."""
        self.ground.permits = 0

    @action
    def permit_surplus(self) -> None:
        """The broker delivers twice."""
        self.ground.permits += 1

    @action
    def lose_all(self) -> None:
        """All data is gone: state, index, uploads, memos, permits."""
        self.store.lose_state(self.ground.owner)
        self.store.lose_index()
        self.ground.uploads.clear()
        self.ground.memos.clear()
        self.ground.permits = 0
        self._excuse()

    @action
    def lose_state(self) -> None:
        """The session's state and records expire."""
        self.store.lose_state(self.ground.owner)
        self._excuse()

    @action
    def lose_index(self) -> None:
        """The fleet's keys are gone."""
        self.store.lose_index()
        self._excuse()

    @action
    def lose_records(self) -> None:
        """The records are gone, their headers are not."""
        self.store.lose_records(self.ground.owner)

    @action
    def snapshot(self) -> None:
        """A replica has all data up to here."""
        self.store.snapshot()

    @action
    def roll_back(self, *, session: bool = True, index: bool = True) -> None:
        """The replica takes over: what was written since the snapshot is gone."""
        self.store.roll_back(self.ground.owner, session=session, index=index)
        self.publications.rolled_back()
        self._excuse()

    def _excuse(self) -> None:
        handed = [worker.handed for worker in self.workers if worker.handed]
        for run in (*self.runs(), *handed):
            run.excused = True

    def _note_lapsed(self) -> None:
        index = self.store.index()
        for run in self.runs():
            running = index.running.get(attempt_of(run.job))
            run.lapsed |= running is None or running.until < self.store.now
