"""What a host's process does: its sessions take turns, each in a thread.

Killed and started again, it goes on from its journal, as a real host would from what it stores.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from pydantic import TypeAdapter

from chaos.journal import Journal, Reading, Turn
from chaos.minor import Minor, speak
from chaos.session import Conversation, Role
from ebbtide import Pool

PAUSE: Final = (0.4, 0.9)
"""Seconds between two turns of a session: faster than a real agent, so that much happens in a minute."""

CLOSE_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Config:
    """What a host is told. `life`: which process of the host it is."""

    journal: Path
    broker: str
    state: str
    roles: tuple[Role, ...]
    minor: Minor
    life: int


CONFIG: Final = TypeAdapter(Config)


def serve(config: str) -> None:
    """Take turns until SIGTERM. `config` is a `Config` as JSON."""
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s %(ebbtide)s", level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_with_fields)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    told = CONFIG.validate_json(config)
    speak(told.minor)
    run(told, stop)


def _with_fields(record: logging.LogRecord) -> bool:
    record.ebbtide = getattr(record, "ebbtide", "")
    return True


def run(config: Config, stop: threading.Event) -> None:
    """Let all sessions take turns until told to stop."""
    before = defaultdict[str, list[Turn]](list)
    for entry in Reading(config.journal).more():
        if isinstance(entry, Turn):
            before[entry.session].append(entry)
    journal = Journal(config.journal)
    pool = Pool(config.broker, config.state)
    threads = []
    for role in config.roles:
        conversation = Conversation(pool, role, journal, config.life, before[role.session])
        pace = Random(f"{role.session} {config.life}")
        threads.append(threading.Thread(target=_talk, args=(conversation, pace, stop), name=role.session))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close(CLOSE_SECONDS)


def _talk(conversation: Conversation, pace: Random, stop: threading.Event) -> None:
    while not stop.wait(pace.uniform(*PAUSE)):
        conversation.turn()
