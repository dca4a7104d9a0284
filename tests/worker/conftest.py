"""A worker's shop over the store under test, with its clock, and a host beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store.client import AsyncStore, SyncStore
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.shop import Shop, new_shop
from ebbtide_worker.summarisers.extractive import Extractive
from ebbtide_worker.summarisers.registry import Factory, Summarisers
from tests.worker.hostside import FakePermits, HostSide
from tests.worker.scripted import Scripted

MakeShop = Callable[..., Shop]

CONFIG = WorkerConfig(
    broker="unused://",
    state="unused://",
    summariser="scripted",
    ask_again=0.0,
    renew_every=0.05,
    retry_base=0.0,
)


@pytest.fixture
def scripted() -> Scripted:
    """The summariser of the shop's jobs."""
    return Scripted()


@pytest.fixture
def recorder() -> MemoryRecorder:
    """What the shop records."""
    return MemoryRecorder()


@pytest.fixture
def make_shop(async_store: AsyncStore, scripted: Scripted, recorder: MemoryRecorder) -> MakeShop:
    """Makes shops on the store under test; keyword arguments change the config."""

    def make(worker_id: str = "w1", **given: Any) -> Shop:
        config = replace(CONFIG, **given)
        factories: dict[str, Factory] = {"scripted": lambda _: scripted, "extractive": lambda _: Extractive()}
        return new_shop(
            config,
            worker_id=worker_id,
            store=async_store,
            recorder=recorder,
            permits=FakePermits(),
            summarisers=Summarisers(config, factories),
        )

    return make


@pytest.fixture
def shop(make_shop: MakeShop) -> Shop:
    """A shop with default settings."""
    return make_shop()


@pytest.fixture
def host(store: SyncStore) -> HostSide:
    """A host's session on the same store."""
    return HostSide(store)
