"""What all jobs of one worker process share. Belongs to the process's event loop."""

from __future__ import annotations

from asyncio import Event
from dataclasses import dataclass, field
from typing import Protocol

from ebbtide_core.metrics import Recorder
from ebbtide_worker.accounts import Accounts
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.health import Health
from ebbtide_worker.patience import Patient, Store
from ebbtide_worker.slots import Slots
from ebbtide_worker.summarisers.registry import Summarisers
from ebbtide_worker.tenants import Tenants


class Permits(Protocol):
    """Sends permits to workers."""

    def send(self, number: int = 1) -> None:
        """Send permits. Raises the broker client's own error when one can't be sent."""

    def waiting(self) -> int:
        """Return how many permits lie in the queue. Raises the broker client's own error."""


@dataclass
class Shop:
    """The process's store, summarisers and limits.

    `calls` bounds the paid calls of all jobs here, `accounts` those of a provider's account in the fleet.
    `running` is how many jobs run now. `stopping`: take no more jobs. `expired`: end those that run.
    """

    config: WorkerConfig
    worker_id: str
    store: Store
    recorder: Recorder
    summarisers: Summarisers
    permits: Permits
    calls: Slots
    tenants: Tenants
    accounts: Accounts
    health: Health
    running: int = 0
    stopping: Event = field(default_factory=Event)
    expired: Event = field(default_factory=Event)

    @property
    def patient(self) -> Patient:
        """The store for calls that bear an outage as long as a lease."""
        return Patient(self.store, self.config.running_lease)

    @property
    def free_slots(self) -> int:
        """How many more jobs this process could run."""
        return max(0, self.config.slots - self.running)


def new_shop(
    config: WorkerConfig,
    *,
    worker_id: str,
    store: Store,
    recorder: Recorder,
    permits: Permits,
    summarisers: Summarisers | None = None,
) -> Shop:
    """Return the shop of a process whose jobs use this store; without `summarisers`, the registered ones."""
    return Shop(
        config=config,
        worker_id=worker_id,
        store=store,
        recorder=recorder,
        summarisers=summarisers or Summarisers(config),
        permits=permits,
        calls=Slots(config.map_per_process),
        tenants=Tenants(store),
        accounts=Accounts(store, recorder),
        health=Health(config.liveness, config.tick),
    )
