"""Putting a record into the buffer of a turn: which, when it is due, and what the host says to it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ebbtide.proposal import SwapProposal, added_messages
from ebbtide.turns.applied import Applied, put_in
from ebbtide.turns.course import Course
from ebbtide.turns.effects import Effects, Propose
from ebbtide.turns.standing import Standing
from ebbtide.turns.talk import Talk
from ebbtide_core.contract.manifest import progressed
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.economy.timing import Chance, rested, swap_now
from ebbtide_core.errors import ContractError, InputError, NotApplicable
from ebbtide_core.lineage.buffer import Buffer, read
from ebbtide_core.store import blob_calls
from ebbtide_core.store.codec import unseal
from ebbtide_core.swap import usable


class Swapper:
    """The swaps of one turn: the last one again, and at most one new one."""

    def __init__(self, course: Course, talk: Talk) -> None:
        self._course = course
        self._talk = talk

    def again(self) -> None:
        """Put the last swap into a raw history again; it needs no asking, and no cache is lost by it.

        That holds without the store too, since a record once published does not change, and whatever the
        size: a kept buffer does not get its messages back either.
        """
        course, known = self._course, self._course.memory.applied
        headers = course.state.headers if course.state else ()
        if known is None or any(h.withdrawn and known.of(h) for h in headers):
            return
        done = known.again(course.passed.buffer)
        if done is not None:
            self._progressed(done, course.measured(done.sizes))
        elif known.is_within(course.passed.buffer) and self._read_anew() is not None:
            self._remake(known)

    @property
    def candidate(self) -> RecordHeader | None:
        """The farthest record that could be swapped in, None when there is none, this turn did swap one, or
        the host declined one."""
        course = self._course
        if course.state is None or course.swapped or course.declined:
            return None
        headers = usable(course.state.headers, course.at.buffer)
        return next((h for h in headers if h.version not in course.unusable), None)

    def look(self) -> Effects[None]:
        """Fetch the candidate, so that its size is known when the swap policy is asked; one that can't be had
        is no candidate any more."""
        header = self.candidate
        if header is not None and (yield from self._record(header)) is None:
            self._course.unusable.add(header.version)

    def due(self, header: RecordHeader) -> bool:
        """Say whether the swap policy agrees, and the last swap is `min_turns_between_swaps` ago."""
        course, memory, at = self._course, self._course.memory, self._course.at
        since = memory.pace.since_swap(memory.seq)
        if not rested(since, memory.policy.min_turns_between_swaps):
            return False
        chance = Chance(
            projected=at.total,
            after=self._after(header),
            unchanged=at.projection.outside,
            window=at.limits.window,
            idle=memory.pace.idle(course.began),
            turns=memory.pace.turns(memory.seq),
        )
        return swap_now(chance, memory.rates, memory.policy.swap_ratio)

    def short(self, header: RecordHeader) -> bool:
        """Say whether the request would be at hard with that record, too."""
        limits = self._course.at.limits
        return self._course.at.total >= limits.hard and self._after(header) >= limits.hard

    def _after(self, header: RecordHeader) -> int:
        record = self._course.memory.record(header)
        return self._course.at.after(header.position, record.summary_tokens if record else None)

    def swap(self) -> Effects[bool]:
        """Swap the candidate in; when that can't be done it is no candidate any more, and nothing changes."""
        header = self.candidate
        if header is None:
            return False
        record = yield from self._record(header)
        if record is not None and (yield from self._put_in(record)):
            self._course.swapped = True
            return True
        self._course.unusable.add(header.version)
        return False

    def _record(self, header: RecordHeader) -> Effects[SummaryRecord | None]:
        return self._course.memory.record(header) or (yield from self._fetched(header))

    def _fetched(self, header: RecordHeader) -> Effects[SummaryRecord | None]:
        course, memory = self._course, self._course.memory
        data = yield from self._talk.ask(blob_calls.record_get(memory.owner, header.version))
        if data is None:
            return None
        try:
            record = SummaryRecord.from_json(unseal(memory.codec, memory.owner.tenant, data))
        except ContractError as error:
            course.faults.append(f"record {header.version}: {error}")
            return None
        if record.body != header.body or not record.body_fits():
            course.faults.append(f"record {header.version}: not the body that the state names")
            return None
        memory.remember(record)
        return record

    def _put_in(self, record: SummaryRecord) -> Effects[bool]:
        course = self._course
        fresh = self._read_anew()
        if fresh is None:
            return False
        try:
            done = put_in(record, fresh, course.passed.sizes)
        except NotApplicable as error:
            course.faults.append(f"record {record.version}: {error}")
            return False
        after = course.measured(done.sizes)
        if not _progress(after, course.at):
            return False
        if course.memory.on_swap is None:
            return self._progressed(done, after)
        return (yield from self._agreed(record, fresh, done, after))

    def _read_anew(self) -> Buffer | None:
        """Read the host's messages anew: one that was changed in place must not vanish behind a summary. None
        when one was."""
        course, memory, buffer = self._course, self._course.memory, self._course.passed.buffer
        fresh = read(buffer.passed, memory.dialect)
        if fresh.entries != buffer.entries:
            sizes = course.passed.sizes.anew(fresh)
            memory.reread(sizes)
            course.passed = course.at = course.measured(sizes)
            known, course.applied = course.applied, None
            if known is not None and known.is_within(fresh):
                self._remake(known)
        if fresh.chain != buffer.chain:
            course.faults.append("buffer: a message was changed in place after it was read")
            return None
        return course.passed.buffer

    def _remake(self, known: Applied) -> None:
        """Make the last swap anew, with what the host added to it: something outside the lineage changed."""
        course = self._course
        with suppress(NotApplicable):
            done = put_in(known.swapped.record, course.passed.buffer, course.passed.sizes, known.added)
            done = replace(done, swapped=replace(done.swapped, again=True))
            self._progressed(done, course.measured(done.sizes))

    def _agreed(self, record: SummaryRecord, fresh: Buffer, done: Applied, after: Standing) -> Effects[bool]:
        """Ask the host; its answer may decline, or add messages that are kept in front of the tail."""
        course = self._course
        removed = tuple(m for i, m in enumerate(fresh.passed[: done.cut]) if i in done.removed)
        answer = yield Propose(
            SwapProposal(record, done.swapped.summary_message, removed, course.at.total, after.total)
        )
        try:
            added = added_messages(answer, course.memory.dialect)
        except InputError as error:
            course.faults.append(str(error))
            added = None
        if added is None:
            course.declined = True
            return False
        if added:
            done = put_in(record, fresh, course.passed.sizes, added)
            after = course.measured(done.sizes)
        if not self._progressed(done, after):
            course.faults.append("on_swap: what it added would leave the request not a tenth smaller")
            course.declined = True
        return not course.declined

    def _progressed(self, done: Applied, after: Standing) -> bool:
        """Take the swap, unless it would not make the request at least a tenth smaller (law 9)."""
        course = self._course
        if not _progress(after, course.at):
            return False
        course.swap_in(done, after)
        return True


def _progress(after: Standing, before: Standing) -> bool:
    return progressed(before.total, after.total)
