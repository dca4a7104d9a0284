"""What a session remembers between turns. Only the host's thread writes it, but for the mailbox of the
background work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Final

from ebbtide.proposal import OnSwap
from ebbtide.turns.applied import Applied
from ebbtide.turns.pace import Pace
from ebbtide.turns.pruned import Pruning
from ebbtide.turns.refused import Refused
from ebbtide.turns.rewrites import Rewrites
from ebbtide.turns.sticky import Sticky
from ebbtide_core.budget.measure import prior_ratio, prompt_tokens, running_ratio
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.economy.rates import Rates, rates_for
from ebbtide_core.lineage.buffer import read
from ebbtide_core.names import Owner
from ebbtide_core.policy import Limits, Policy, limits
from ebbtide_core.store.codec import PLAIN, Codec
from ebbtide_core.store.results import ClaimStatus
from ebbtide_core.views.identity import Identity

RECORDS_REMEMBERED: Final = 3

ClaimName = tuple[str, int]
"""A claim by incarnation and epoch: epochs begin anew with each life of the state."""


@dataclass(frozen=True, slots=True)
class Held:
    """A claim that was given and whose job is not known to be in the index."""

    incarnation: str
    generation: int
    job_id: str
    epoch: int


@dataclass(eq=False)
class Mailbox:
    """What the background work tells the next turn: is it under way, its last claim's answer, its faults, and
    why a job was not admitted.

    `held` is a claim that it got and could not turn into a job; the next order gives it back first.
    """

    held: Held | None = None

    _lock: Lock = field(default_factory=Lock)
    _busy: bool = False
    _claim: ClaimStatus | None = None
    _faults: list[str] = field(default_factory=list)
    _stale: bool = False
    _refused: Refused | None = None
    _told: bool = True

    def begin(self) -> bool:
        """Note that work begins; False when some is under way already."""
        with self._lock:
            if self._busy:
                return False
            self._busy, self._claim = True, None
            return True

    def begin_anew(self) -> None:
        """Forget the work under way: it goes on in another process."""
        self._lock = Lock()
        self.held, self._busy, self._claim = None, False, None

    def end(
        self,
        claim: ClaimStatus | None,
        fault: str = "",
        stale: bool = False,
        refused: Refused | None = None,
    ) -> None:
        """Note how the work ended. `stale`: messages were changed in place, so all must be read anew."""
        with self._lock:
            if refused is not None:
                self._refused, self._told = refused, False
            self._busy, self._claim = False, claim
            self._stale = self._stale or stale
            if fault:
                self._faults.append(fault)

    @property
    def busy(self) -> bool:
        """Is work under way?"""
        return self._busy

    @property
    def claim(self) -> ClaimStatus | None:
        """The last claim's answer, None while work is under way or failed before it."""
        return self._claim

    def faults(self) -> tuple[str, ...]:
        """Return the faults since the last call."""
        with self._lock:
            faults, self._faults = tuple(self._faults), []
            return faults

    def refused(self, now: float) -> bool:
        """Say whether a job was not admitted so short a time ago that none is asked for."""
        return self._refused is not None and now < self._refused.until

    def refusal(self, now: float) -> Refusal | None:
        """Return why a job was not admitted since the last call, or so short a time ago that none is asked
        for."""
        with self._lock:
            told, self._told = self._told, True
            found = self._refused
            return found.reason if found is not None and (not told or now < found.until) else None

    def stale(self) -> bool:
        """Say, once, whether messages were changed in place."""
        with self._lock:
            stale, self._stale = self._stale, False
            return stale


@dataclass
class Memory:
    """One session as its host sees it. `sent_counted` is the count of the last view sent, for calibration.

    `mode` is what the session's state asked for when it was read last, `sticky` the degraded view
    sent last, `rewrites` tells which thinking the provider would refuse.
    """

    owner: Owner
    host: str
    model: str
    window: int
    dialect: Dialect
    policy: Policy
    meter: Meter
    codec: Codec = PLAIN
    on_swap: OnSwap | None = None
    seq: int = 0
    mode: str | None = None
    ratio: float | None = None
    observed: float | None = None
    sent_counted: int = 0
    applied: Applied | None = None
    sticky: Sticky | None = None
    pruning: Pruning = field(default_factory=Pruning)
    rewrites: Rewrites = field(default_factory=Rewrites)
    pace: Pace = field(default_factory=Pace)
    mailbox: Mailbox = field(default_factory=Mailbox)
    _limits: tuple[int | None, Limits] | None = None
    _waited: tuple[ClaimName | None, float] = (None, 0.0)
    _read: tuple[Sizes, ...] = ()
    _records: OrderedDict[str, SummaryRecord] = field(default_factory=OrderedDict)

    def limits(self, max_tokens: int | None) -> Limits:
        """Return the policy's figures for the window and an output of so many tokens (None: the default)."""
        if self._limits is None or self._limits[0] != max_tokens:
            self._limits = (max_tokens, limits(self.policy, self.window, max_tokens))
        return self._limits[1]

    def read(self, messages: Sequence[Message]) -> Sizes:
        """Return the messages as a buffer with its sizes, reading only what is new. Raises InputError or
        LimitError.

        They go on from what was passed last, or from the buffer that the last swap made.
        """
        if self.mailbox.stale():
            self.reread(None)
        buffer = read(messages, self.dialect, *(sizes.buffer for sizes in self._read))
        known = next((s for s in self._read if s.buffer.entries and buffer.continues(s.buffer)), None)
        sizes = known.follow(buffer) if known else Sizes(self.meter, buffer)
        self._read = (sizes,)
        return sizes

    def reread(self, sizes: Sizes | None) -> None:
        """Take this as what was passed last; without it, read all anew next time."""
        self._read = (sizes,) if sizes else ()
        self.applied = None

    @cached_property
    def identity(self) -> Identity:
        """What makes two tool calls alike."""
        return Identity.of(self.policy.superseding)

    @property
    def rates(self) -> Rates:
        """What the model's tokens cost."""
        return self.policy.rates or rates_for(self.model)

    @property
    def tokens_ratio(self) -> float:
        """The model's tokens per counted token: as observed, as the state knows, or the model's prior."""
        if self.observed is not None:
            return self.observed
        return self.ratio if self.ratio is not None else prior_ratio(self.model)

    def patience(self, claim: ClaimName | None) -> float:
        """Return the seconds of the wait budget left for a claim (None: for a new one)."""
        return self.policy.wait_budget - self._spent(claim)

    def waited(self, claim: ClaimName, seconds: float) -> None:
        """Note that a turn waited for a claim."""
        self._waited = (claim, self._spent(claim) + seconds)

    def _spent(self, claim: ClaimName | None) -> float:
        return self._waited[1] if claim is not None and claim == self._waited[0] else 0.0

    def record(self, header: RecordHeader) -> SummaryRecord | None:
        """Return a record fetched before; another version may have the same body."""
        known = self._records.get(header.body)
        return known if known is not None and known.version == header.version else None

    def remember(self, record: SummaryRecord) -> None:
        """Keep a fetched record."""
        self._records[record.body] = record
        while len(self._records) > RECORDS_REMEMBERED:
            self._records.popitem(last=False)

    def close_turn(self, swap: Applied | None, sent_counted: int) -> None:
        """Note what the turn swapped in and how large its request was counted."""
        self.sent_counted = sent_counted
        if swap is not None:
            self._read = (*self._read, swap.sizes)
            self.applied = swap

    def switch(self, model: str, window: int) -> None:
        """Go on with another model or window: what was learnt of the old one's tokens and cache no longer
        holds."""
        if model != self.model:
            self.ratio = self.observed = None
            self.pace.cool()
        self.model, self.window, self._limits = model, window, None
        self.sent_counted = 0

    def observe(self, usage: Any) -> None:
        """Take the provider's usage of the last request into the ratio; unknown shapes change nothing."""
        reported = prompt_tokens(usage)
        if reported and self.sent_counted:
            self.observed = running_ratio(self.tokens_ratio, reported, self.sent_counted)
        self.sent_counted = 0

    def forget(self) -> None:
        """Drop everything but identity, calibration, and what thinking was signed for (after a reset)."""
        self.reread(None)
        self.sent_counted = 0
        self.sticky = None
        self.pruning.forget()
        self.pace = Pace()
        self._records.clear()
