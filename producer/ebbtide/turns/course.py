"""What one turn has come to so far: where the buffer stands, what the store said, what was done."""

from __future__ import annotations

from dataclasses import dataclass, field

from ebbtide.turns.applied import Applied
from ebbtide.turns.memory import ClaimName, Memory
from ebbtide.turns.request import Request
from ebbtide.turns.standing import Standing
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.contract.tenant import TenantStanding
from ebbtide_core.policy import Mode, most_cautious
from ebbtide_core.store.results import ClaimView, SessionView


@dataclass
class Course:
    """One turn under way.

    `tenant` is what is known of the session's tenant, `now` the time of the latest look at the clock.
    `passed` is the buffer as the host passed it, `at` the one that would be sent now. `applied` is the swap
    of this turn, `swapped` says whether it is a new one, not the last one put into a raw history again;
    `before` is what it replaced. `unusable` are versions that this turn tried in vain, `declined`: the host
    declined one. `began` is when the turn did, by a monotonic clock; `io` are the seconds of store I/O since
    the last pause.
    """

    memory: Memory
    request: Request
    passed: Standing
    at: Standing
    projected: int
    began: float
    now: float
    tenant: TenantStanding
    state: SessionView | None = None
    applied: Applied | None = None
    swapped: bool = False
    pruned: bool = False
    declined: bool = False
    before: tuple[Standing, Applied | None] | None = None
    unusable: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    io: float = 0.0
    store_open: bool = True

    @classmethod
    def begun(cls, memory: Memory, request: Request, now: float) -> Course:
        """Return the course of a turn that begins. Raises InputError or LimitError."""
        at = measured(memory, request, memory.read(request.messages))
        return cls(memory, request, at, at, at.total, now, now, request.tenant, store_open=request.store_open)

    def measured(self, sizes: Sizes) -> Standing:
        """Return where a buffer of these sizes stands this turn."""
        return measured(self.memory, self.request, sizes)

    def remeasured(self) -> None:
        """Measure the buffer again, now that more is known of the model's tokens."""
        if self.memory.tokens_ratio != self.passed.ratio:
            self.passed = self.at = self.measured(self.passed.sizes)
            self.projected = self.at.total

    def leave_nothing_out(self) -> None:
        """Send the results again that were left out: a session that is not on prunes nothing."""
        if self.memory.pruning.gone:
            self.memory.pruning.forget()
            self.passed = self.at = self.measured(self.passed.sizes)
            self.projected = self.at.total

    def swap_in(self, done: Applied, after: Standing) -> None:
        """Take a swap; the last one can be taken back until the turn ends."""
        self.before = (self.at, self.applied)
        self.at, self.applied = after, done

    def take_back(self) -> None:
        """Undo the new swap of this turn; results left out since then stay so."""
        if self.before is not None:
            before, self.applied = self.before
            self.at = self.measured(before.sizes)
        self.swapped = False

    @property
    def mode(self) -> Mode:
        """The most cautious of the modes that pool, policy, tenant and state ask for.

        While the store is away, the state asks for what it did last.
        """
        asked = self.memory.mode if self.state is None else self.state.mode
        if asked is None:
            return self.request.mode
        known = asked in Mode.__members__.values()
        return most_cautious(self.request.mode, Mode(asked) if known else Mode.OFF)

    @property
    def claim_name(self) -> ClaimName | None:
        """The name of the session's claim."""
        return (self.state.incarnation, self.claim.epoch) if self.state and self.claim else None

    @property
    def claim(self) -> ClaimView | None:
        """The session's claim, unless it is this host's own and could not be turned into a job."""
        claim = self.state.claim if self.state else None
        held = self.memory.mailbox.held
        lost = claim is not None and held is not None and claim.epoch == held.epoch
        return None if lost and not self.memory.mailbox.busy else claim


def measured(memory: Memory, request: Request, sizes: Sizes) -> Standing:
    """Return where a buffer of these sizes stands against the limits of a request."""
    return Standing(
        buffer=sizes.buffer,
        parts=request.parts,
        limits=request.limits,
        sizes=sizes,
        ratio=memory.tokens_ratio,
        pruned=memory.pruning.on(sizes),
        by_hand=request.by_hand is not None,
    )
