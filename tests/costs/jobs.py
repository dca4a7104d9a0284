"""Sessions whose job has an exact number of chunks."""

from __future__ import annotations

from typing import Any, Final

from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy
from ebbtide_core.store.client import SyncStore
from tests.host.talk import chat
from tests.worker.hostside import HostSide

_WORDS: Final = 900
_CHUNK: Final = 1_000
"""Tokens of a chunk: one answer and its nudge, with or without the first request."""


POLICY: Final = Policy(
    keep_recent_tokens=0,
    keep_recent_messages=2,
    min_new_tokens=1,
    soft=0.3,
    chunk_tokens=_CHUNK,
    summary_max_tokens=400,
)
"""Leaves the last answer and its nudge alone, and makes a chunk of each one before."""


def conversation(chunks: int) -> list[dict[str, Any]]:
    """Return the messages of a session whose job has so many chunks."""
    return chat(chunks + 1, _WORDS)


def host_of(store: SyncStore, tenant: str, chunks: int) -> HostSide:
    """Return a tenant's session, in whose window such a conversation is due."""
    window = 5 * _CHUNK * (chunks + 1) // 2
    return HostSide(store, owner=Owner.of(tenant, "chat-42"), policy=POLICY, window=window)
