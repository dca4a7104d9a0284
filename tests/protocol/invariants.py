"""The laws as checkers: each raises Violation, naming the law, when what it is shown breaks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.protocol.conversation import LEAST_SAVING, measured
from tests.store.leaks import DECLARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ebbtide_core.contract.job import After, Job
    from ebbtide_core.contract.record import RecordHeader
    from tests.protocol.conversation import Conversation, Message, SummaryMessage
    from tests.protocol.ground import Manifest
    from tests.protocol.model_session import State
    from tests.protocol.workers import Run


class Violation(AssertionError):
    """A law is broken; `law` is its number in the design, or the name of a promise that has none."""

    def __init__(self, law: str, what: str) -> None:
        self.law = law
        super().__init__(f"{law}: {what}")


def buffer_stands_for_lineage(talk: Conversation) -> None:
    """Law 1: what left the buffer left by a swap, so summary and tail are the lineage still."""
    covered = talk.summary.covers if talk.summary else ()
    if [*covered, *talk.tail] != talk.lineage:
        raise Violation("law 1", "the buffer does not stand for the lineage")


def record_covers_its_job(manifest: Manifest, covers: tuple[Message, ...]) -> None:
    """Law 2: each message from the base to the position is in a chunk, exactly once and in order."""
    if covers != manifest.covers:
        raise Violation("law 2", f"a record for {len(manifest.covers)} messages covers {len(covers)}")


def swap_replaces_what_it_covers(talk: Conversation, summary: SummaryMessage) -> None:
    """Law 3, the "only if": a record applies to nothing but the messages that it stands for."""
    kept = len(talk.after(summary.position.count))
    if tuple(talk.lineage[: len(talk.lineage) - kept]) != summary.covers:
        raise Violation("law 3", "a swap replaced messages that the record does not cover")


def record_used_at_hard(talk: Conversation, kept: Iterable[SummaryMessage]) -> None:
    """Law 3, the "if": no kept record that covers the lineage farther, and saves enough, is left unused."""
    for summary in kept:
        reach = len(summary.covers)
        if reach <= talk.base.count or tuple(talk.lineage[:reach]) != summary.covers:
            continue
        if measured(summary, talk.lineage[reach:]) <= LEAST_SAVING * talk.size:
            raise Violation("law 3", f"version {summary.version} applies and is not used at hard")


@dataclass(slots=True)
class Publications:
    """Law 7, over everything that was published. A rollback of the data takes published numbers back."""

    known: dict[tuple[str, int, str], RecordHeader] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    attempts: set[tuple[str, str, int]] = field(default_factory=set)

    def rolled_back(self) -> None:
        """Note that older data is back: numbers and attempts published since may come again."""
        self.last.clear()
        self.attempts.clear()

    def published(self, before: State | None, job: Job, version: int) -> None:
        """Check one accepted publication against the state before it and all earlier ones."""
        if before is None or (before.incarnation, before.generation) != (job.incarnation, job.generation):
            raise Violation("law 7", "a fenced worker published")
        self._follows_newest(before.newest, job)
        self._numbers_rise(job, version)
        self._never_behind(before, job)

    def _follows_newest(self, newest: After, job: Job) -> None:
        if newest != job.after:
            raise Violation("law 7", f"published after {newest}, claimed after {job.after}")

    def _numbers_rise(self, job: Job, version: int) -> None:
        last = self.last.get(job.incarnation, 0)
        if last and version != last + 1:
            raise Violation("law 7", f"version {version} of {job.incarnation} published after {last}")
        self.last[job.incarnation] = version
        attempt = (job.incarnation, job.job_id, job.epoch)
        if attempt in self.attempts:
            raise Violation("law 7", f"epoch {job.epoch} of one job published twice")
        self.attempts.add(attempt)

    def _never_behind(self, before: State, job: Job) -> None:
        for header in before.headers:
            if header.generation == job.generation and header.position.count >= job.position.count:
                raise Violation("law 7", f"a record is published behind version {header.version}")

    def seen(self, state: State | None) -> None:
        """Check that no kept record differs from what it was when first seen."""
        for header in state.headers if state else ():
            assert state is not None
            name = (state.incarnation, header.version, header.body)
            first = self.known.setdefault(name, header)
            if (first.position, first.generation) != (header.position, header.generation):
                raise Violation("law 7", f"version {header.version} changed")


def refusal_changed_nothing(what: str, before: object, after: object) -> None:
    """Law 8: a refused call leaves the store as it was."""
    if before != after:
        raise Violation("law 8", f"{what} changed the state from {before} to {after}")


def holder_settled(before: State | None, job: Job) -> None:
    """Only the attempt that holds the claim settles it, or a later one of its job."""
    claim = before.claim if before else None
    if claim is None or not claim.held_by(job.job_id, job.epoch) or claim.attempt > job.attempt:
        raise Violation("holder", f"epoch {job.epoch}, attempt {job.attempt} settled {claim}")


def late_word_changed_nothing(before: object, after: object) -> None:
    """What a worker said of a run before it handed it back changes nothing for the one that has it now."""
    if before != after:
        raise Violation("handed", f"a late word changed the index from {before} to {after}")


def keys_are_tidy(lifetimes: Mapping[str, int]) -> None:
    """Law 12: each key is hash-tagged and has a TTL (milliseconds; -1: none), unless it is a declaration."""
    for key, lifetime in lifetimes.items():
        if not (key.startswith("ebbtide:") and key.count("{") == key.count("}") == 1):
            raise Violation("law 12", f"{key} names no owner")
        if lifetime < 0 and not DECLARED.fullmatch(key.encode()):
            raise Violation("law 12", f"{key} has no TTL")


def bystander_untouched(before: object, after: object) -> None:
    """Law 13: what one tenant does changes nothing of another's."""
    if before != after:
        raise Violation("law 13", f"another tenant's state went from {before} to {after}")


@dataclass(slots=True)
class Payments:
    """The payers' law: two attempts pay for one session by turns only if a lease was lost, and never once
    the one that lost it knows. Payments are kept in order, each by the run that made it.
    """

    payers: list[Run] = field(default_factory=list)

    def paid(self, run: Run, running: Iterable[Run]) -> None:
        """Check one more payment against those of all runs still going."""
        self.payers.append(run)
        if run.excused:
            return
        alive = {id(r) for r in running if not r.excused and r.life == run.life}
        history = [p for p in self.payers if id(p) in alive]
        since_first = history[history.index(run) :]
        if any(other is not run and not other.lapsed for other in since_first):
            what = "a replaced worker goes on paying" if run.lapsed else "two workers pay, no lease was lost"
            raise Violation("payers", what)
