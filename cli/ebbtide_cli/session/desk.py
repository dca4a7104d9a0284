"""What the store holds of sessions, as the command asks for it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ebbtide_cli.codec import named_codec
from ebbtide_cli.hand.store import opened_store
from ebbtide_cli.hand.talk import NotThere
from ebbtide_cli.settings import Settings, shown
from ebbtide_core import names
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.errors import ContractError
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode, Policy
from ebbtide_core.store import blob_calls, session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import Codec, unseal
from ebbtide_core.store.forget import Forgotten, forget
from ebbtide_core.store.results import Reviewed, StateView

SHUT_SECONDS: Final = 2 * Policy().job_deadline
"""How long memos of a forgotten session can't be stored again: longer than a job that still runs may take."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A session and its state."""

    owner: Owner
    state: StateView


@dataclass(frozen=True, slots=True)
class Degraded:
    """A session that had degraded turns: those still listed, newest first."""

    owner: Owner
    turns: tuple[Reviewed, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A kept version: its header, and its record or why there is none to be read."""

    header: RecordHeader
    record: SummaryRecord | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """A state store and the codec of what it keeps. All methods raise StoreUnavailable."""

    store: SyncStore
    codec: Codec
    address: str

    def sessions(
        self, tenant: str | None, limit: int | None, wanted: Callable[[StateView], bool] | None = None
    ) -> tuple[list[Seen], int]:
        """Return the wanted sessions that were written last, latest first, and how many there are in all.

        Without `wanted` any is; without `limit` all are returned.
        """
        count = 0

        def all_seen() -> Iterator[Seen]:
            nonlocal count
            for owners in self._owners(names.states(tenant)):
                states = self.store.run_all([session_calls.look(owner) for owner in owners])
                there = [Seen(o, state) for o, state in zip(owners, states, strict=True) if state]
                seen = [each for each in there if wanted is None or wanted(each.state)]
                count += len(seen)
                yield from seen

        def key(seen: Seen) -> tuple[float, str]:
            return seen.state.idle, seen.owner.member

        latest = sorted(all_seen(), key=key) if limit is None else heapq.nsmallest(limit, all_seen(), key)
        return latest, count

    def degraded(self, tenant: str | None, limit: int) -> tuple[list[Degraded], int]:
        """Return the sessions whose last degraded turns are newest, and how many have any in all."""
        count = 0

        def all_degraded() -> Iterator[Degraded]:
            nonlocal count
            for owners in self._owners(names.reviews(tenant)):
                lists = self.store.run_all([session_calls.review_list(owner) for owner in owners])
                found = [Degraded(o, turns) for o, turns in zip(owners, lists, strict=True) if turns]
                count += len(found)
                yield from found

        latest = heapq.nsmallest(limit, all_degraded(), key=lambda d: (-d.turns[0].at, d.owner.member))
        return latest, count

    def _owners(self, pattern: str) -> Iterator[list[Owner]]:
        known: set[str] = set()
        for keys in self.store.scan(pattern):
            fresh = dict.fromkeys(key for key in keys if key not in known)
            known.update(fresh)
            yield [Owner.from_key(key) for key in fresh]

    def state(self, owner: Owner) -> StateView:
        """Return a session's state. Raises NotThere."""
        state = self.store.run(session_calls.look(owner))
        if state is None:
            raise self._no_session(owner)
        return state

    def review(self, owner: Owner) -> tuple[Reviewed, ...]:
        """Return a session's degraded turns, newest first."""
        return self.store.run(session_calls.review_list(owner))

    def tally(self, owner: Owner) -> dict[str, int]:
        """Return how often what happened to a session's jobs."""
        return self.store.run(tally_calls.tally(owner))

    def tallies(self, owners: Sequence[Owner]) -> list[dict[str, int]]:
        """Return the tallies of several sessions, in their order."""
        return self.store.run_all([tally_calls.tally(owner) for owner in owners])

    def versions(self, owner: Owner, headers: Sequence[RecordHeader]) -> list[Version]:
        """Return the kept versions that headers name, in their order."""
        if not headers:
            return []
        sealed = self.store.run(blob_calls.get_many([owner.record(header.version) for header in headers]))
        return [self._version(owner, h, data) for h, data in zip(headers, sealed, strict=True)]

    def version(self, owner: Owner, number: int) -> Version:
        """Return one kept version. Raises NotThere."""
        headers = {header.version: header for header in self.state(owner).view.headers}
        if number not in headers:
            kept = ", ".join(map(str, headers)) or "none"
            raise NotThere(f"version {number} is not kept; kept are: {kept}")
        (version,) = self.versions(owner, [headers[number]])
        return version

    def record(self, owner: Owner, number: int) -> SummaryRecord:
        """Return the record of a kept version. Raises NotThere when it can't be read."""
        version = self.version(owner, number)
        if version.record is None:
            raise NotThere(f"version {number}: {version.problem}")
        return version.record

    def _version(self, owner: Owner, header: RecordHeader, sealed: bytes | None) -> Version:
        if sealed is None:
            return Version(header, None, "its record is gone")
        try:
            record = SummaryRecord.from_json(unseal(self.codec, owner.tenant, sealed))
        except ContractError as error:
            return Version(header, None, f"its record can't be read: {error}")
        return Version(header, record)

    def withdraw(self, owner: Owner, number: int) -> None:
        """Mark a kept version as withdrawn. Raises NotThere."""
        if not self.store.run(session_calls.withdraw(owner, number)):
            raise NotThere(f"version {number} is not kept any more")

    def set_mode(self, owner: Owner, mode: Mode | None) -> None:
        """Set how far hosts may go in a session; None: as they ask. Raises NotThere."""
        if not self.store.run(session_calls.set_mode(owner, mode)):
            raise self._no_session(owner)

    def reset_breaker(self, owner: Owner) -> bool:
        """Close a session's breaker; False when there is no such session."""
        return self.store.run(session_calls.breaker_reset(owner))

    def _no_session(self, owner: Owner) -> NotThere:
        return NotThere(
            f"there is no session {owner.session_id!r} of tenant {owner.tenant!r} at {self.address}: it "
            "never asked this store, was idle for too long, or was forgotten. `ebbtide session list` "
            "shows those that there are."
        )

    def forget(self, owner: Owner) -> Forgotten:
        """Remove all of a session."""
        return forget(self.store, owner, shut=SHUT_SECONDS)


@contextmanager
def opened(settings: Settings) -> Iterator[Desk]:
    """Yield a desk at the state store that the settings name; its connections are closed in the end."""
    codec = named_codec(settings.codec)
    with opened_store(settings) as store:
        yield Desk(store, codec, shown(settings.urls[0]))
