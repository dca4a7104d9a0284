"""Law 10: all store I/O of one turn fits its budget, waiting fits the wait budget, and no fault raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide import Policy, Turn
from ebbtide.base import CONNECT_SHARE
from ebbtide.turns.effects import Ask, Effect, Hand, Learn, Pause
from ebbtide.turns.engine import TurnEngine
from ebbtide.turns.memory import Memory
from ebbtide.turns.request import Request
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.budget.measure import Parts
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.tokens import ByteEstimate
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.tenant import TenantStanding
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode, limits
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import ClaimStatus
from tests.host.publisher import work_once
from tests.host.talk import chat, said

BUDGET, WAIT = 0.25, 3.0
LONGEST_CALL = 1.5 * CONNECT_SHARE * BUDGET
"""Seconds: connecting may take half of a call's time-out, waiting for the reply all of it."""

calls = st.tuples(st.floats(0, LONGEST_CALL), st.sampled_from(["answers", "answers", "answers", "fails"]))
carried_out = st.sampled_from([ClaimStatus.OWN, ClaimStatus.BUSY, ClaimStatus.BREAKER_OPEN, None])


@pytest.fixture(scope="module")
def real(server: EmbeddedServer) -> Iterator[SyncStore]:
    """A store whose answers are real, whatever the test does to their time and fate."""
    store = SyncStore(server.url, timeout=10.0)
    yield store
    store.close()


@dataclass
class SlowShell:
    """Carries effects out at a simulated time: each store call takes as long as drawn, and some fail."""

    store: SyncStore
    fates: Iterator[tuple[float, str]]
    courier: ClaimStatus | None
    memory: Memory
    now: float = 0.0
    io: list[float] = field(default_factory=list)
    paused: float = 0.0
    after_pause: list[int] = field(default_factory=list)

    def drive(self, engine: TurnEngine) -> Turn:
        """Return the engine's turn."""
        run, reply = engine.run(), None
        while True:
            try:
                effect = run.send(reply)
            except StopIteration as stop:
                turn: Turn = stop.value
                return turn
            reply = self.perform(effect)

    def perform(self, effect: Effect) -> Any:
        """Carry one effect out."""
        if isinstance(effect, Ask):
            return self.ask(effect)
        if isinstance(effect, Hand):
            self.memory.mailbox.begin()
            self.memory.mailbox.end(self.courier, "" if self.courier else "broker: gone")
            return True
        if isinstance(effect, Pause):
            self.now += effect.seconds
            self.paused += effect.seconds
            self.after_pause.append(len(self.io))
            return None
        if isinstance(effect, Learn):
            return TenantStanding()
        return self.now

    def ask(self, effect: Ask) -> Any:
        """Run a call, or fail, after the drawn time."""
        took, fate = next(self.fates, (LONGEST_CALL, "fails"))
        self.now += took
        self.io.append(took)
        return StoreUnavailable("gone") if fate == "fails" else self.store.run(effect.call)


def engine(memory: Memory, messages: list[Any], window: int) -> TurnEngine:
    """The engine of a turn over those messages."""
    resolved = limits(memory.policy, window, 200)
    request = Request(messages, Parts(max_tokens=200), resolved, Mode.ON, uuid4().hex[:16], store_open=True)
    return TurnEngine(memory, request)


def session(window: int) -> Memory:
    """A session that no other example has."""
    dialect = by_name("openai")
    policy = Policy(io_budget=BUDGET, wait_budget=WAIT)
    owner = Owner("acme", uuid4().hex)
    return Memory(owner, "host", "gpt-test", window, dialect, policy, Meter(ByteEstimate(), dialect))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fates=st.lists(calls, max_size=40),
    rounds=st.integers(1, 30),
    edited=st.booleans(),
    courier=carried_out,
    published=st.booleans(),
)
def test_io_and_waiting_stay_within_their_budgets(
    database: Any,
    real: SyncStore,
    fates: list[tuple[float, str]],
    rounds: int,
    edited: bool,
    courier: ClaimStatus | None,
    published: bool,
) -> None:
    """Whatever calls take and however they fail, before and after edits, with and without a record: no raise,
    no overdraft."""
    memory = session(4_000)
    shell = SlowShell(real, iter(fates), courier, memory)
    messages = chat(rounds)
    for turn_number in range(3):
        io_before, paused_before, pauses_before = len(shell.io), shell.paused, len(shell.after_pause)
        turn = shell.drive(engine(memory, messages, 4_000))
        if published:
            work_once(real)
        first_pause = shell.after_pause[pauses_before] if len(shell.after_pause) > pauses_before else None
        before_waiting = shell.io[io_before:first_pause]
        assert sum(before_waiting) <= BUDGET + 1e-9
        assert shell.paused - paused_before <= WAIT + 1e-9
        assert turn.report.waited <= WAIT + 2 * LONGEST_CALL
        assert turn.buffer or not messages
        messages = turn.buffer + said(100 + turn_number)
        if edited:
            messages = [{"role": "user", "content": f"edit {turn_number}"}, *messages[1:]]


@pytest.mark.parametrize("bounded", [True, False])
def test_the_checker_fails_for_an_engine_without_a_budget(
    real: SyncStore, database: Any, monkeypatch: pytest.MonkeyPatch, bounded: bool
) -> None:
    """A turn that has to ask three times of a slow store stops in time; without the budget's share it does
    not."""
    memory = session(4_000)
    claim_elsewhere(real, memory.owner)
    if not bounded:
        monkeypatch.setattr("ebbtide.turns.talk.IO_SHARE", 1e9)
    shell = SlowShell(real, iter([(LONGEST_CALL, "answers")] * 3), ClaimStatus.OWN, memory)
    shell.drive(engine(memory, chat(20), 4_000))
    assert (sum(shell.io) <= BUDGET) == bounded


def claim_elsewhere(store: SyncStore, owner: Owner) -> None:
    """Leave a claim at a position that contradicts every other history, as a second host would."""
    seen = store.run(
        session_calls.turn(
            owner, host="other", seq=1, fresh_incarnation="x", model="m", state_ttl=60, breaker_cooldown=5
        )
    )
    given = session_calls.claim(
        owner,
        incarnation=seen.incarnation,
        generation=seen.generation,
        job_id="other",
        position=Position(2, b"x" * 16),
        new_tokens=1,
        min_new_tokens=0,
        waits=0,
        urgency=Urgency.LO,
        lease=60,
        state_ttl=60,
    )
    assert store.run(given).status is ClaimStatus.OWN
