"""A session's tally: how often what happened to its jobs. No rule reads it; it is for people and replays.

`enqueued` is counted by the host, `<outcome>:<reason>` by whoever ends an attempt without a version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from ebbtide_core.names import Owner

ENQUEUED: Final = "enqueued"
MAX_EVENTS: Final = 32
"""Different events kept apart; further ones count as `other`."""


def tally_add(owner: Owner, event: str, *, ttl: float) -> Call[int]:
    """Count an event, and return how often it has happened. The tally lives for `ttl` seconds from now.

    Nothing is counted, and 0 returned, for a session without state: it ran out or was forgotten.
    """
    return Call("tally_add", (owner.state, owner.tally), (event, ms(ttl), MAX_EVENTS), int)


def tally(owner: Owner) -> Call[dict[str, int]]:
    """Read how often what happened; empty when nothing did, or it is too long ago."""
    return Call("tally", (owner.tally,), (), _tally)


def _tally(reply: Any) -> dict[str, int]:
    return {text(event): int(times) for event, times in zip(reply[::2], reply[1::2], strict=True)}
