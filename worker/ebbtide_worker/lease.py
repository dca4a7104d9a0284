"""The two leases of an attempt: the running lease in the fleet, the claim in the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

from ebbtide_core.contract.job import Job
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.results import GuardStatus, RenewStatus
from ebbtide_core.store.script import Call
from ebbtide_worker.bill import Bill
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.patience import Patient, Store
from ebbtide_worker.verdict import LEASE_LOST, OVER_BUDGET, STORE_UNAVAILABLE, Stop, Verdict, of_guard

CLAIM_TICKS: Final = 2
"""The claim outlives the running lease by so many ticks: a job put back finds it still there."""


class Lease:
    """Renews both leases, telling what was paid since, and knows when the attempt has to end.

    An unreachable store ends it only once the running lease must have run out.
    """

    def __init__(
        self,
        store: Store,
        job: Job,
        config: WorkerConfig,
        bill: Bill,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store = store
        self._job = job
        self._config = config
        self._bill = bill
        self._clock = clock
        self._renewed = clock()
        self._asking = asyncio.Lock()
        self._over: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()

    async def begin(self) -> None:
        """Ask, before any work, whether the attempt may start. Raises Stop, or StoreUnavailable."""
        patient = Patient(self._store, self._config.running_lease, self._clock)
        verdict = of_guard(await patient.run(self._guard()))
        if verdict is not None:
            raise Stop(verdict)
        self._renewed = self._clock()

    async def confirm(self) -> None:
        """Make sure, before something is paid, that the attempt may go on. Raises Stop.

        Asks the store only when the last answer is older than `ask_again`.
        """
        async with self._asking:
            if self._clock() - self._renewed >= self._config.ask_again:
                await self._ask()
        if self._over.done():
            raise Stop(self._over.result())

    async def keep(self) -> Verdict:
        """Renew until the attempt has to end, and return why."""
        while True:
            done, _ = await asyncio.wait({self._over}, timeout=self._config.renew_every)
            if done:
                return self._over.result()
            async with self._asking:
                await self._ask()

    async def _ask(self) -> None:
        try:
            verdict = await self._answer()
        except StoreUnavailable:
            overdue = self._clock() - self._renewed >= self._config.running_lease
            verdict = STORE_UNAVAILABLE if overdue else None
        else:
            self._renewed = self._clock()
        if verdict is not None and not self._over.done():
            self._over.set_result(verdict)

    async def _answer(self) -> Verdict | None:
        match await self.renew():
            case RenewStatus.LOST:
                return LEASE_LOST
            case RenewStatus.OVER_BUDGET:
                return OVER_BUDGET
            case _:
                return of_guard(await self._store.run(self._guard()))

    async def renew(self) -> RenewStatus:
        """Renew the running lease alone, and tell what was paid. Raises StoreUnavailable."""
        paid = self._bill.untold
        status = await self._store.run(fleet_calls.renew(self._job, self._config.running_lease, paid))
        self._bill.told(paid)
        return status

    def _guard(self) -> Call[GuardStatus]:
        job = self._job
        return session_calls.guard(
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            after=job.after,
            lease=self._config.running_lease + CLAIM_TICKS * self._config.tick,
        )
