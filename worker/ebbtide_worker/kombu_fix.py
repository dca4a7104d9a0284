"""Keeps a Celery worker going when its Redis broker restarts while messages are not yet acknowledged.

kombu 5.7.0 has two faults there; a worker meets them when all its slots are busy and more messages are
reserved.

- After a lost connection it collects the transport and then closes its channels. A channel that holds
  unacknowledged messages wants to give them back and asks the collected transport for its address: the
  AttributeError ends the worker. With the fix it meets a ConnectionError, which Celery expects there.
- A message whose acknowledgement fails counts against the prefetch window for ever. Once the window is full
  of them the worker listens no more: it notices no lost connection and takes no message. With the fix such a
  message is forgotten; Redis gives it out again after the visibility timeout.
"""

from __future__ import annotations

import logging
from importlib.metadata import version as installed
from typing import Any, Final

log = logging.getLogger("ebbtide.worker")

MADE_FOR: Final = "5.7.0"
_MARK: Final = "_ebbtide_fixed"


def apply_fix() -> bool:
    """Fix kombu's Redis transport in this process, once; False, and a warning, for a version not made for."""
    version = installed("kombu")
    if version != MADE_FOR:
        log.warning(
            "kombu %s: the fix for workers that end or stall when Redis restarts is made for %s and was not "
            "applied. Run workers under a supervisor that restarts them, or install kombu %s.",
            version,
            MADE_FOR,
            MADE_FOR,
        )
        return False
    from kombu.transport import redis

    channel: Any = redis.Channel
    qos: Any = redis.QoS
    if not hasattr(channel, _MARK):
        setattr(channel, _MARK, True)
        channel._connparams = _guarded(channel._connparams)
        qos.ack = _forgetting(qos.ack)
    return True


def _guarded(connparams: Any) -> Any:
    def guarded(channel: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(channel.connection, "client", None) is None:
            raise ConnectionError("the broker connection was lost and is being replaced")
        return connparams(channel, *args, **kwargs)

    return guarded


def _forgetting(ack: Any) -> Any:
    from kombu.transport import virtual

    def forgetting(qos: Any, delivery_tag: Any) -> None:
        try:
            ack(qos, delivery_tag)
        except Exception:
            virtual.QoS.ack(qos, delivery_tag)
            raise

    return forgetting
