"""A session that looks only at what is new does what a session without any memory does.

One conversation is lived twice, by a session that remembers and by a new one for each turn: whatever the host
passes, drops, edits or repeats, both send and keep the same and upload the same.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide import InputError, Mode, Pool, Reason, Session, Turn, UnfittableRequest, mark
from ebbtide.turns.effects import Ask
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.contract.job import Job
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import PublishResult
from tests.core.say import answers, asks, image, system, user
from tests.host.conftest import WINDOW
from tests.host.publisher import manifest_of, messages_of, publish, record_of, take
from tests.host.shells import SMALL
from tests.host.talk import chat, said, tool_round

SOFT = int(WINDOW * SMALL.soft)
NUDGE = user("go on")
Messages = list[Any]
Saying = Callable[[int], Messages]

SAYINGS: dict[str, Saying] = {
    "round": said,
    "long": lambda i: said(i, 700),
    "wide": lambda i: [user(f"{i} " + "日本語 " * 120)],
    "again": lambda i: [NUDGE],
    "tools": tool_round,
    "calls": lambda i: [asks(f"c{i}"), answers(f"c{i}", f"out {i}")],
    "open": lambda i: [asks(f"o{i}")],
    "orphan": lambda i: [answers(f"x{i}")],
    "system": lambda i: [system(f"rule {i}")],
    "status": lambda i: [mark(user(f"status {i}"), ephemeral=True)],
    "pinned": lambda i: [mark(user(f"keep {i}"), pinned=True)],
    "internal": lambda i: [mark(user(f"note {i}"), internal=True)],
    "image": lambda i: [user(image(40 + i))],
    "surrogate": lambda i: [user(f"odd {i} \ud800")],
    "unknown": lambda i: [user({"type": "later", "n": i})],
}
EDITS: dict[str, Callable[[Any], Any]] = {
    "words": lambda m: {**m, "content": "edited"},
    "pin": lambda m: mark(m, pinned=True),
    "unpin": lambda m: mark(m, pinned=False),
    "hide": lambda m: mark(m, ephemeral=True),
}


@dataclass(frozen=True)
class Step:
    """What happens in a turn: what is said, what the host passes of it, what it is told besides, what comes
    after."""

    says: list[str]
    passes: str
    copied: bool
    edits: str
    at: int
    drops: int
    request: dict[str, Any]
    breaks: str
    then: str


def rarely(*events: str, of: int = 4) -> st.SearchStrategy[str]:
    """One of some events once in so many times, else "": nothing."""
    return st.sampled_from([""] * (of - 1) * len(events) + list(events))


STEPS = st.builds(
    Step,
    says=st.lists(st.sampled_from(sorted(SAYINGS)), max_size=3),
    passes=st.sampled_from(["raw", "raw", "kept", "before"]),
    copied=st.booleans(),
    edits=rarely(*EDITS, of=6),
    at=st.integers(0, 60),
    drops=st.sampled_from([0] * 12 + [1, 2, 5, 20]),
    request=st.sampled_from([{}] * 4 + [{"system": "be brief"}, {"tools": [{"n": 1}]}, {"max_tokens": 300}]),
    breaks=rarely("garbage", "aborted", "huge"),
    then=st.sampled_from(["work", "work", "work", "close", "reset", "withdraw", "", ""]),
)


class Aborted(Exception):
    """The host's task ended while it waited for the store."""


class AbortedSession(Session):
    """A session whose turn ends after its first question to the store."""

    def _ask(self, effect: Ask) -> Any:
        super()._ask(effect)
        raise Aborted


@dataclass
class Life:
    """One of the two lives of the conversation."""

    pool: Pool
    name: str
    model: str
    mode: Mode
    remembers: bool
    _kept: Session | None = None

    @property
    def owner(self) -> Owner:
        """Whose state it is."""
        return Owner.of("acme", self.name)

    @property
    def session(self) -> Session:
        """The session of this turn."""
        if self._kept is None or not self.remembers:
            policy = SMALL.model_copy(update={"mode": self.mode})
            self._kept = self.pool.session(
                tenant="acme",
                session_id=self.name,
                model=self.model,
                context_window=WINDOW,
                policy=policy,
            )
        return self._kept

    def turn(self, messages: Messages, request: dict[str, Any], aborted: bool) -> Turn | str:
        """Prepare a turn; a string tells why there is none."""
        session = self.session
        self._drop_what_is_kept_on_purpose(session)
        if aborted:
            session = AbortedSession(session._pool, session._store, session._memory)
        try:
            return session.prepare(messages, **request)
        except UnfittableRequest:  # changes nothing, but for what was put in before
            return "unfittable"
        except (InputError, Aborted) as error:
            return f"{type(error).__name__} {error}"
        finally:
            assert self.pool.flush()

    def _drop_what_is_kept_on_purpose(self, session: Session) -> None:
        """A degraded view, and results once left out, stay from turn to turn for the sake of the cache."""
        session._memory.sticky = None
        session._memory.pruning.forget()


AS_ANEW = {Reason.NO_RECORD_IN_TIME: Reason.NOT_ENOUGH}
"""Who remembers a swap may wait for the next record; to a new session it is this turn's swap."""


def stays_swapped(remembered: Turn | str, anew: Turn | str) -> bool:
    """A swap once made stays in a raw history that is below soft; a new session swaps nothing there."""
    if isinstance(remembered, str) or isinstance(anew, str):
        return False
    reasons = (remembered.report.reason, anew.report.reason)
    return reasons == (Reason.REAPPLIED, Reason.BELOW_SOFT)


def told(turn: Turn | str) -> Any:
    """What must be the same. What may differ: who remembers knows a swap again, tells what else it did and
    needs no notice of it, and knows counts that another only bounds, as long as they are below soft; its
    mailbox and its clock are its own."""
    if isinstance(turn, str):
        return turn
    report, swap = turn.report, turn.swap
    reason = AS_ANEW.get(report.reason, report.reason)
    decision = (report.action, reason) if swap is None or report.degraded else "swapped"
    sent = report.sent if report.degraded or report.sent >= SOFT else "below soft"
    projected = report.projected if report.projected >= SOFT else "below soft"
    does = (report.turn, decision, report.version, report.enough, report.faults)
    views = (report.degraded, report.rung, report.omitted, report.issues)
    put_in = swap and (swap.version, swap.position, swap.summary_message, swap.carried, swap.removed)
    return turn.messages, turn.buffer, does, views, projected, sent, put_in


@dataclass
class Twins:
    """A conversation lived by both; `raw` is all that was said, `kept` what the host keeps of its turns."""

    lives: tuple[Life, Life]
    store: SyncStore
    raw: Messages = field(default_factory=lambda: chat(24))
    kept: Messages = field(default_factory=lambda: chat(24))
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def live(self, step: Step) -> None:
        """Live one turn and what follows it."""
        before = {"raw": self.raw, "kept": self.kept, "before": self.kept}[step.passes]
        new = [message for name in step.says for message in SAYINGS[name](next(self.numbers))]
        self.raw, self.kept = self._changed(self.raw, step) + new, self._changed(self.kept, step) + new
        passed = {"raw": self.raw, "kept": self.kept, "before": before}[step.passes]
        if step.copied:
            passed = copy.deepcopy(passed)
        broken = {"garbage": [user("a"), {"role": 1}], "huge": [user("word " * 5_000)]}.get(step.breaks, [])
        turns = [life.turn(passed + broken, step.request, step.breaks == "aborted") for life in self.lives]
        if not stays_swapped(*turns):
            assert told(turns[0]) == told(turns[1])
        if step.passes == "kept":
            self.kept = self.kept if broken or not isinstance(turns[0], Turn) else turns[0].buffer
        else:
            self._edit_what_was_sent(turns)
        if step.then:
            getattr(self, f"_{step.then}")()

    def _edit_what_was_sent(self, turns: Sequence[Turn | str]) -> None:
        """The host goes on with its raw history, so the summary message of the turn is its own to change."""
        for turn in turns:
            if isinstance(turn, Turn) and turn.swap is not None:
                summary: Any = turn.swap.summary_message
                summary["content"] += " The host says more to the model."

    def _changed(self, messages: Messages, step: Step) -> Messages:
        messages = messages[: max(2, len(messages) - step.drops)]
        if step.edits:
            at = step.at % len(messages)
            messages[at] = EDITS[step.edits](messages[at])
        return messages

    def _work(self) -> None:
        """A worker takes the job of each and publishes; both jobs are alike."""
        jobs = [job for job in (take(self.store), take(self.store)) if job is not None]
        assert len({(job.manifest_id, job.position, job.after, job.base_version) for job in jobs}) <= 1
        assert len(jobs) != 1
        results = [self._published(job) for job in jobs]
        assert len({(result.status, result.version) for result in results}) <= 1

    def _published(self, job: Job) -> PublishResult:
        manifest = manifest_of(self.store, job)
        return publish(self.store, job, record_of(job, manifest, messages_of(self.store, job, manifest)))

    def _reset(self) -> None:
        for life in self.lives:
            life.session.reset()

    def _close(self) -> None:
        self.lives[0].session.close()

    def _withdraw(self) -> None:
        for life in self.lives:
            self.store.run(session_calls.withdraw(life.owner, 1))


@pytest.fixture
def pool(server: EmbeddedServer, worker_store: SyncStore) -> Iterator[Pool]:
    """A host process's access to the server."""
    with Pool(server.url, policy=SMALL) as pool:
        yield pool


@settings(max_examples=25)
@given(
    model=st.sampled_from(["gpt-test", "claude-test"]),
    mode=st.sampled_from([Mode.ON, Mode.ON, Mode.SHADOW]),
    steps=st.lists(STEPS, min_size=4, max_size=14),
)
def test_a_session_that_remembers_does_what_a_new_one_does(
    pool: Pool, database: Any, worker_store: SyncStore, model: str, mode: Mode, steps: list[Step]
) -> None:
    """Whatever happens between turns and in the middle of them."""
    database.flushdb()
    lives = (Life(pool, "old", model, mode, True), Life(pool, "new", model, mode, False))
    twins = Twins(lives, worker_store)
    for step in steps:
        twins.live(step)
