"""How a turn talks to the state store: within its I/O budget, and without ever raising."""

from __future__ import annotations

from typing import Any, Final

from ebbtide.turns.course import Course
from ebbtide.turns.effects import Ask, Effects, Now
from ebbtide_core.errors import EbbtideError
from ebbtide_core.lineage.chain import Position, Relation
from ebbtide_core.store import session_calls
from ebbtide_core.store.results import SessionView

IO_SHARE: Final = 0.4
"""No store call begins after 40 % of the I/O budget."""


class Talk:
    """The store calls of one turn."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def ask(self, call: Any) -> Effects[Any]:
        """Run a call within the I/O budget; None when the store is not to be asked, or did not answer."""
        course = self._course
        if not course.store_open or course.io > IO_SHARE * course.memory.policy.io_budget:
            return None
        began = yield Now()
        reply = yield Ask(call)
        course.io += (yield Now()) - began
        if isinstance(reply, EbbtideError):
            course.faults.append(f"store: {reply}")
            course.store_open = False
            return None
        return reply

    def consult(self) -> Effects[None]:
        """Count the turn and take the session's state; begin a new generation if the history was changed."""
        course, memory = self._course, self._course.memory
        memory.seq += 1
        yield from self.refresh()
        if course.state is None:
            return
        if course.state.ratio is not None:
            memory.ratio = course.state.ratio
            course.remeasured()
        if self._forked(course.state) or self._rewound(course.state):
            yield from self._fork(course.state)

    def refresh(self) -> Effects[None]:
        """Take the session's state; asking again with the same number doesn't count the turn again."""
        course, memory = self._course, self._course.memory
        policy, tenant = memory.policy, course.tenant.policy
        course.state = yield from self.ask(
            session_calls.turn(
                memory.owner,
                host=memory.host,
                seq=memory.seq,
                fresh_incarnation=course.request.fresh,
                model=memory.model,
                ratio=memory.observed,
                state_ttl=policy.state_ttl,
                breaker_cooldown=tenant.breaker_cooldown or policy.breaker_cooldown,
                breaker_cooldown_seconds=tenant.breaker_cooldown_seconds or policy.breaker_cooldown_seconds,
            )
        )
        if course.state is not None:
            memory.mode = course.state.mode

    def _forked(self, state: SessionView) -> bool:
        """A position of the present generation contradicts the host's chain."""
        chain = self._course.passed.buffer.chain
        return any(chain.relation(p) is Relation.CONTRADICTS for p in _positions(state))

    def _rewound(self, state: SessionView) -> bool:
        """The host is behind such a position, and has come to where it would claim."""
        passed = self._course.passed
        behind = any(passed.buffer.chain.relation(p) is Relation.AHEAD for p in _positions(state))
        return behind and passed.cut is not None

    def _fork(self, state: SessionView) -> Effects[None]:
        memory = self._course.memory
        generation = yield from self.ask(
            session_calls.fork(
                memory.owner,
                incarnation=state.incarnation,
                generation=state.generation,
                state_ttl=memory.policy.state_ttl,
                cooldown=memory.policy.breaker_cooldown,
            )
        )
        yield from self.refresh()
        if generation is None and self._course.state is not None:
            self._course.faults.append("fork: another host was faster")


def _positions(state: SessionView) -> list[Position]:
    """The positions that must not contradict the host: of the claim and of records of the present
    generation."""
    records = [h.position for h in state.headers if h.generation == state.generation]
    claim = state.claim
    return [*records, claim.position] if claim and claim.generation == state.generation else records
