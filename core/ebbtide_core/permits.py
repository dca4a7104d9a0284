"""Permits: the Celery messages that let a worker take the next job. The only file of core that knows
Celery."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from celery import Celery
from kombu import Exchange, Queue, pools

from ebbtide_core.errors import InputError
from ebbtide_core.names import CONTRACT_MAJOR

R = TypeVar("R")

TASK: Final = f"ebbtide.work.{CONTRACT_MAJOR}"
QUEUE: Final = TASK

_AMQP: Final = ("amqp", "amqps", "pyamqp")
_REDIS: Final = ("redis", "rediss")

_NO_RETRY: Final[dict[str, Any]] = {
    "max_retries": 0,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}
_BOUNDED_REDIS: Final[dict[str, Any]] = {
    "priority_steps": [0],
    "socket_connect_timeout": 0.1,
    "socket_timeout": 0.15,
    "retry_on_timeout": False,
    "health_check_interval": 0,
    **_NO_RETRY,
}


def _end_waits(connection: Any) -> None:
    """Have py-amqp end a read after `read_timeout`, which it otherwise begins anew without end."""
    connection.transport.raise_on_initial_eintr = True


_BOUNDED_AMQP: Final[dict[str, Any]] = {
    "connect_timeout": 0.1,
    "read_timeout": 0.1,
    "write_timeout": 0.1,
    "on_open": _end_waits,
    "confirm_publish": True,
    **_NO_RETRY,
}
"""A send to a broker that froze waits three times: for the confirm, then to close channel and connection."""

_SENDER_SETTINGS: Final[dict[str, Any]] = {
    "task_publish_retry": False,
    "broker_connection_timeout": 0.2,
    "broker_connection_retry": False,
    "broker_connection_max_retries": 0,
    "broker_pool_limit": 10,
    "broker_pool_acquire_timeout": 0.1,
}

_OWNER: Final = "ebbtide_sender"
"""An option that no transport knows. Kombu shares connections between all whose URL and options are alike,
and does not compare those for TLS: this keeps a sender's to itself.
"""

_STALE_SECONDS: Final = 0.05
"""A send that fails sooner may have met a connection that was lost unnoticed: a new one is tried, once."""


def is_amqp(url: str) -> bool:
    """Is it the URL of an AMQP broker, as RabbitMQ is?"""
    return _scheme(url) in _AMQP


def broker_url(url: str) -> str:
    """Return the URL as Celery spells it. `unix:///path?db=1` becomes `redis+socket:///path?virtual_host=1`;
    of `redis://` and `rediss://` the options for TLS stay, and a certificate is asked for unless they say
    otherwise. Raises InputError for a text that is no URL, and for a cluster, which Celery can't use.
    """
    scheme = _scheme(url)
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    if scheme.endswith("+cluster"):
        raise InputError(
            "a cluster keeps the state only: give one Redis or RabbitMQ server as the broker", path="broker"
        )
    if scheme == "unix":
        return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={options.get('db', '0')}"
    if scheme not in _REDIS:
        return url
    secure = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if scheme == "rediss":
        secure.setdefault("ssl_cert_reqs", "required")
    path = f"/{options['db']}" if "db" in options else parts.path
    return parts._replace(path=path, query=urlencode(secure, safe="/")).geturl()


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError:
        raise InputError(
            "not a URL: give one such as redis://host:6379/0 (not shown)", path="broker"
        ) from None


def broker_settings(url: str) -> dict[str, Any]:
    """Return Celery's settings for whoever sends or takes permits. Raises InputError as `broker_url`.

    With RabbitMQ the queue is a quorum queue, which keeps permits when one of its nodes is lost. Sender and
    worker declare it alike, as RabbitMQ asks for.
    """
    arguments = {"x-queue-type": "quorum"} if is_amqp(url) else None
    queue = Queue(QUEUE, Exchange(QUEUE, type="direct"), routing_key=QUEUE, queue_arguments=arguments)
    return {
        "broker_url": broker_url(url),
        "task_queues": [queue],
        "task_default_queue": QUEUE,
        "task_create_missing_queues": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
    }


class PermitSender:
    """Sends permits with bounded time: a dead or silent broker costs at most about 0.3 s and raises.

    A permit that is lost delays a job until the next maintenance tick; a surplus one finds nothing to take.
    """

    def __init__(self, broker: str) -> None:
        bounds = _BOUNDED_AMQP if is_amqp(broker) else _BOUNDED_REDIS
        options = {**bounds, _OWNER: secrets.token_hex(8)}
        self._app = Celery("ebbtide-permits", set_as_current=False)
        self._app.conf.update(broker_settings(broker), **_SENDER_SETTINGS, broker_transport_options=options)

    def send(self, number: int = 1) -> None:
        """Send permits. Raises the broker client's own error when one can't be sent."""
        for _ in range(number):
            _done(self._send)

    def _send(self) -> None:
        self._app.send_task(TASK, queue=QUEUE, ignore_result=True, retry=False)

    def waiting(self) -> int:
        """Return how many permits lie in the queue. Raises the broker client's own error when it can't be
        asked.
        """
        return _done(self._waiting)

    def _waiting(self) -> int:
        queue = self._app.amqp.queues[QUEUE]
        with self._app.producer_or_acquire() as producer:
            declared = producer.channel.queue_declare(
                queue=QUEUE,
                durable=queue.durable,
                exclusive=False,
                auto_delete=False,
                arguments=queue.queue_arguments,
            )
        return int(declared.message_count)

    def close(self) -> None:
        """Close the broker connections."""
        try:
            key = self._app.connection_for_write()
        except ValueError:  # a URL that can't be read never led to a connection
            return
        pool: Any = self._app.pool
        pool.force_close_all()
        for group in (pools.producers, pools.connections):
            with contextlib.suppress(KeyError):
                del group[key]
        self._app.close()


def _done(act: Callable[[], R]) -> R:
    """Return what it does, done again at once when it failed quickly, as on a connection that had gone."""
    began = time.monotonic()
    try:
        return act()
    except Exception:
        if time.monotonic() - began > _STALE_SECONDS:
            raise
        return act()
