"""Nobody is lost: every session goes on, no turn raises, no process ends by itself, jobs flow again."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Evidence


def alive(found: Evidence) -> Iterator[str]:
    """Every session took turns after the last fault."""
    for session in found.sessions:
        if not any(turn.at > found.calm for turn in found.turns.get(session, ())):
            yield f"{session} took no turn after the last fault"


def nothing_raised(found: Evidence) -> Iterator[str]:
    """No turn raised into its host's loop; that a request fits no window must not occur here either."""
    for raised in found.raised:
        yield f"{raised.session}, process {raised.life}, a turn raised {raised.error}"


def nobody_ended(found: Evidence) -> Iterator[str]:
    """No process ended but those that a fault ended, and none of these had to be forced."""
    yield from found.surprises


def at_rest(found: Evidence) -> Iterator[str]:
    """After the last fault all sessions are well in time, versions are published, and no job is left over."""
    yield from found.restless
