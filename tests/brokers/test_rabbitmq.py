"""RabbitMQ with a quorum queue as broker: permits arrive, waits are bounded, a restart ends no worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu.exceptions import OperationalError

from ebbtide_cli.doctor.checks import broker_reached
from ebbtide_cli.doctor.finding import Grade
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.permits import QUEUE, PermitSender
from tests.brokers.fleet import Fleet, fleet, send_one, until_met
from tests.brokers.rabbit import SCRIPTS, Rabbit

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not SCRIPTS.exists(), reason="no rabbitmq-server is installed; `make test-brokers` installs it"
    ),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rabbit]:
    """A server for the tests of this file, with a queue that has been through an orderly restart.

    Version 3.10.8 keeps the term of a queue in memory for its first seconds: killed then, it never finds a
    leader for it again.
    """
    with Rabbit(tmp_path_factory.mktemp("rabbit")) as broker:
        sender = PermitSender(broker.url)
        send_one(sender)
        sender.close()
        broker.stop()
        broker.start()
        yield broker


@pytest.fixture
def pool(broker: Rabbit, tmp_path: Path) -> Iterator[Fleet]:
    """Host and worker with their state in an embedded server."""
    with EmbeddedServer(tcp=True) as state:
        both = (broker.url, state.url)
        with fleet(tmp_path, host=both, worker=both) as running:
            yield running


def test_permits_go_through_a_quorum_queue_before_and_after_a_restart(broker: Rabbit, pool: Fleet) -> None:
    """Compactions work, the broker is killed, turns go on, it is started again, compactions work again."""
    pool.compacts("first")
    assert broker.queues() == [f"{QUEUE} quorum"]

    broker.kill()
    session = pool.session("outage")
    until_met(pool, session, lambda faults: any(f.startswith("broker:") for f in faults), "the loss is met")
    broker.start()
    pool.worker.forget()
    pool.compacts("second")
    assert broker.queues() == [f"{QUEUE} quorum"]


def test_a_sender_bears_a_broker_that_froze_died_and_came_back(broker: Rabbit) -> None:
    """A permit that can't be sent raises; the same sender sends again once the broker is back."""
    sender = PermitSender(broker.url)
    send_one(sender)
    broker.freeze()
    for _ in range(3):
        with pytest.raises(OperationalError):
            sender.send()
    broker.thaw()
    send_one(sender)
    broker.kill()
    with pytest.raises(OperationalError, match="refused"):
        sender.send()
    broker.start()
    send_one(sender)
    broker.kill()
    broker.start()
    send_one(sender)
    sender.send(3)
    sender.close()


def test_the_doctor_reaches_it(broker: Rabbit) -> None:
    """And says so when it is not there."""
    assert broker_reached(broker.url).grade is Grade.OK
    assert broker_reached("amqp://guest:hunter2@127.0.0.1:1//").grade is Grade.FAIL
