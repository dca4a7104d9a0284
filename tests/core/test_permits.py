"""Permits: how a broker's URL is spelled for Celery, and which queue there is."""

from __future__ import annotations

from typing import Any

import pytest
from kombu import Connection, pools

from ebbtide import Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.errors import InputError
from ebbtide_core.permits import QUEUE, PermitSender, broker_settings, broker_url
from tests.store.clock import Database

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://u:p%40@h:1?db=2&socket_timeout=9", "redis://u:p%40@h:1/2"),
        ("unix:///run/s?db=1", "redis+socket:///run/s?virtual_host=1"),
        ("rediss://h/0", "rediss://h/0?ssl_cert_reqs=required"),
        (
            "rediss://h/0?ssl_ca_certs=/c/a.pem&ssl_cert_reqs=none&protocol=3",
            "rediss://h/0?ssl_ca_certs=/c/a.pem&ssl_cert_reqs=none",
        ),
        ("amqp://u:p@h:1/v?x=y", "amqp://u:p@h:1/v?x=y"),
    ],
)
def test_a_url_is_spelled_as_celery_wants_it(url: str, spelled: str) -> None:
    """What is for the state store's client only does not reach it."""
    assert broker_url(url) == spelled


@pytest.mark.parametrize("url", ["rediss://h/0", "rediss://h/0?ssl_ca_certs=/ca.pem"])
def test_a_certificate_is_checked_unless_the_url_says_otherwise(url: str) -> None:
    """Kombu by itself would not."""
    options: Any = Connection(broker_url(url)).ssl
    assert options.get("ssl_cert_reqs") == 2
    assert options.get("ssl_check_hostname", True)


@pytest.mark.parametrize("url", [f"redis+cluster://u:{SECRET}@h:1", f"redis://u:{SECRET}@[h"])
def test_a_broker_that_celery_can_t_use_is_refused(url: str) -> None:
    """At the start, by a host as by a worker, without showing the URL."""
    for use in (broker_url, broker_settings, PermitSender, Pool):
        with pytest.raises(InputError) as caught:
            use(url)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "kind"), [("amqp://h//", "quorum"), ("amqps://h//", "quorum"), ("redis://h", None)]
)
def test_the_queue_is_a_quorum_queue_of_rabbitmq(url: str, kind: str | None) -> None:
    """Elsewhere there are none."""
    (queue,) = broker_settings(url)["task_queues"]
    assert queue.name == QUEUE
    assert (queue.queue_arguments or {}).get("x-queue-type") == kind


def test_a_closed_sender_leaves_no_connection(server: EmbeddedServer, database: Database) -> None:
    """Nor does one sender's end touch another's."""
    before = set(pools.connections)
    one, two = PermitSender(server.url), PermitSender(server.url)
    for sender in (one, two):
        sender.send()
    one.close()
    two.send()
    assert database.llen(QUEUE) == 3
    two.close()
    assert set(pools.connections) == before
