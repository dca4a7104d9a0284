"""The part of a Celery worker that takes messages from the broker."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final

from celery.worker import consumer

_Consumer: Any = consumer.Consumer
_DELAYED: Final = ":DelayedDelivery"

LONGEST_PAUSE: Final = 4.0
"""Seconds between two attempts to reach a broker that is away. Celery's own pauses grow to half a minute."""


class _Blueprint(_Consumer.Blueprint):  # type: ignore[misc]
    default_steps: ClassVar[list[str]] = [
        step for step in _Consumer.Blueprint.default_steps if not step.endswith(_DELAYED)
    ]


class PermitConsumer(_Consumer):  # type: ignore[misc]
    """Celery's consumer, without the 28 queues and exchanges for delayed messages that it would declare
    beside a quorum queue. A permit is never delayed.
    """

    Blueprint = _Blueprint

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long the broker is away."""
        conn.ensure_connection = partial(conn.ensure_connection, interval_max=LONGEST_PAUSE)
        return super().ensure_connected(conn)
