"""The signs of life that a worker looks for at each tick."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store.client import AsyncStore
from ebbtide_worker.health import Health
from ebbtide_worker.heartbeat import ask_broker, ask_store
from ebbtide_worker.shop import Shop
from tests.worker.conftest import MakeShop
from tests.worker.test_leases import Flaky, HandClock


@dataclass
class Queue:
    """A broker with so many permits in its queue; `away`: it does not answer."""

    lying: int = 0
    sent: int = 0
    away: bool = False

    def send(self, number: int = 1) -> None:
        """Count."""
        self._check()
        self.sent += number

    def waiting(self) -> int:
        """Tell what lies there."""
        self._check()
        return self.lying

    def _check(self) -> None:
        if self.away:
            raise ConnectionError("away")


@dataclass
class Scene:
    """A worker whose last permit came 30 of 60 seconds ago."""

    shop: Shop
    queue: Queue
    now: HandClock

    async def later(self) -> None:
        """Look again when the 60 seconds are over."""
        self.now.now = 60.0
        self.shop.health.turned()
        await ask_broker(self.shop)


@pytest.fixture
def scene(make_shop: MakeShop) -> Scene:
    """The worker, its broker and its clock."""
    now, queue, shop = HandClock(), Queue(), make_shop(concurrency=2)
    shop.health = Health(60.0, 5.0, now)
    shop.permits = queue
    now.now = 30.0
    return Scene(shop, queue, now)


async def test_an_idle_worker_sends_a_permit(scene: Scene, recorder: MemoryRecorder) -> None:
    """One of the ordinary kind; unanswered, it is dead in the end."""
    await ask_broker(scene.shop)
    assert scene.queue.sent == recorder.total(metrics.PERMITS, "sent_as_heartbeat") == 1
    await scene.later()
    assert scene.shop.health.dead()


async def test_permits_that_lie_there_are_enough(scene: Scene) -> None:
    """A consumer that works takes those: none pile up, and the worker is dead all the same."""
    scene.queue.lying = 1
    await ask_broker(scene.shop)
    assert scene.queue.sent == 0
    await scene.later()
    assert scene.shop.health.dead()


async def test_a_broker_that_is_away_is_no_sign_of_death(scene: Scene) -> None:
    """Nor of readiness. Once it is back the time begins anew."""
    scene.queue.away = True
    await ask_broker(scene.shop)
    assert any("broker" in why for why in scene.shop.health.unready())
    scene.queue.away = False
    await scene.later()
    assert not scene.shop.health.dead()
    assert not any("broker" in why for why in scene.shop.health.unready())


async def test_a_worker_without_a_free_slot_can_expect_no_permit(scene: Scene) -> None:
    """Its jobs may take as long as they like."""
    scene.shop.running = 2
    await ask_broker(scene.shop)
    await scene.later()
    assert scene.queue.sent == 0
    assert not scene.shop.health.dead()


async def test_a_stopping_worker_expects_none(scene: Scene) -> None:
    """It must not be killed in its grace."""
    scene.shop.stopping.set()
    await ask_broker(scene.shop)
    await scene.later()
    assert scene.queue.sent == 0
    assert not scene.shop.health.dead()


async def test_a_store_that_does_not_answer_is_not_noted(scene: Scene, async_store: AsyncStore) -> None:
    """The worker is not ready, and not dead."""
    flaky = Flaky(async_store)
    flaky.away = 1
    scene.shop.store = flaky
    await ask_store(scene.shop)
    assert any("state store" in why for why in scene.shop.health.unready())
    await ask_store(scene.shop)
    assert not any("state store" in why for why in scene.shop.health.unready())
    assert not scene.shop.health.dead()
