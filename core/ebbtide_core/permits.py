"""Permits: the Celery messages that let a worker take the next job. The only file of core that knows
Celery."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from celery import Celery

from ebbtide_core.errors import InputError
from ebbtide_core.names import CONTRACT_MAJOR

TASK: Final = f"ebbtide.work.{CONTRACT_MAJOR}"
QUEUE: Final = TASK

_BOUNDED_TRANSPORT: Final[dict[str, Any]] = {
    "socket_connect_timeout": 0.1,
    "socket_timeout": 0.15,
    "retry_on_timeout": False,
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    "health_check_interval": 0,
}
_SENDER_SETTINGS: Final[dict[str, Any]] = {
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_ignore_result": True,
    "task_publish_retry": False,
    "task_default_queue": QUEUE,
    "broker_connection_timeout": 0.2,
    "broker_connection_retry": False,
    "broker_connection_max_retries": 0,
    "broker_pool_limit": 10,
    "broker_pool_acquire_timeout": 0.1,
    "broker_transport_options": _BOUNDED_TRANSPORT,
}


def broker_url(url: str) -> str:
    """Return the URL as Celery spells it: `unix:///path?db=1` becomes
    `redis+socket:///path?virtual_host=1`. Raises InputError for a text that is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError(
            "not a URL: give one such as redis://host:6379/0 (not shown)", path="broker"
        ) from None
    if parts.scheme != "unix":
        return url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={database}"


class PermitSender:
    """Sends permits with bounded time: a dead or silent broker costs at most about 0.3 s and raises.

    A permit that is lost delays a job until the next maintenance tick; a surplus one finds nothing to take.
    """

    def __init__(self, broker: str) -> None:
        self._app = Celery("ebbtide-permits", broker=broker_url(broker), set_as_current=False)
        self._app.conf.update(_SENDER_SETTINGS)

    def send(self, number: int = 1) -> None:
        """Send permits. Raises the broker client's own error when one can't be sent."""
        for _ in range(number):
            self._app.send_task(TASK, queue=QUEUE, ignore_result=True, retry=False)

    def close(self) -> None:
        """Close the broker connections."""
        self._app.close()
