"""The partials that a job finds in the store, and those that it leaves there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core.contract.job import Job
from ebbtide_core.errors import ContractError
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.codec import Codec, seal, unseal
from ebbtide_core.summary.model import Summary
from ebbtide_worker.patience import Patient
from ebbtide_worker.verdict import FENCED, Stop


@dataclass(frozen=True, slots=True)
class Memos:
    """The memos of a job's tenant, as one job uses them. They live for `ttl` seconds."""

    store: Patient
    job: Job
    codec: Codec
    ttl: float

    async def read(self, names: Sequence[str]) -> list[Summary | None]:
        """Return the summaries in the order of the names, None for those that are not there.

        The session notes the names first, so that forgetting it finds its memos. Raises Stop when it is of
        another life. Memos that can't be read are deleted, to be made anew.
        """
        await self._note(names)
        sealed = await self.store.run(blob_calls.memo_get(self.job.tenant, names))
        found = list(map(self._opened, sealed))
        damaged = [n for n, s, f in zip(names, sealed, found, strict=True) if s is not None and f is None]
        if damaged:
            await self.drop(damaged)
        return found

    async def keep(self, name: str, summary: Summary) -> None:
        """Store a summary unless there is one."""
        sealed = seal(self.codec, self.job.tenant, summary.to_json())
        await self.store.run(blob_calls.memo_put(self.job.tenant, name, sealed, ttl=self.ttl))

    async def drop(self, names: Sequence[str]) -> None:
        """Delete memos."""
        await self.store.run(blob_calls.memo_drop(self.job.tenant, names))

    async def _note(self, names: Sequence[str]) -> None:
        job = self.job
        call = session_calls.memos_used(
            job.owner, names, incarnation=job.incarnation, generation=job.generation, ttl=self.ttl
        )
        if not await self.store.run(call):
            raise Stop(FENCED)

    def _opened(self, sealed: bytes | None) -> Summary | None:
        try:
            return None if sealed is None else Summary.from_json(unseal(self.codec, self.job.tenant, sealed))
        except ContractError:
            return None
