"""The worker's consumer: Celery's own, without delayed delivery, and with short pauses."""

from __future__ import annotations

from functools import partial
from typing import Any

from celery.worker.consumer import Consumer
from kombu.utils.imports import symbol_by_name

from ebbtide_worker.app import create_app
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.consumer import LONGEST_PAUSE, PermitConsumer

DELAYED = "celery.worker.consumer.delayed_delivery:DelayedDelivery"


def test_it_has_all_of_celery_s_parts_but_one() -> None:
    """The one would declare 28 queues and exchanges beside a quorum queue."""
    left_out = set(Consumer.Blueprint.default_steps) - set(PermitConsumer.Blueprint.default_steps)
    assert left_out == {DELAYED}


def test_a_worker_uses_it_and_pauses_briefly() -> None:
    """However long its broker is away, it is asked for again within seconds."""
    app = create_app(WorkerConfig(broker="amqp://127.0.0.1:1//", state="redis://127.0.0.1:1/0"))
    assert symbol_by_name(app.conf.worker_consumer) is PermitConsumer
    consumer: Any = object.__new__(PermitConsumer)
    consumer.app, consumer.first_connection_attempt = app, False
    asked: dict[str, Any] = {}
    connection: Any = app.connection_for_read()
    connection.ensure_connection = partial(_note, asked, connection)
    consumer.ensure_connected(connection)
    assert asked["interval_max"] == LONGEST_PAUSE


def _note(asked: dict[str, Any], connection: Any, *_: Any, **options: Any) -> Any:
    asked.update(options)
    return connection
