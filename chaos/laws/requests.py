"""What is sent is what the provider takes: by its rules, and within the window."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Evidence


def valid(found: Evidence) -> Iterator[str]:
    """No request breaks a rule of the provider or is larger than the window."""
    for session, turns in found.turns.items():
        for turn in turns:
            where = f"{session}, turn with {turn.said} messages,"
            if turn.broken:
                yield f"{where} breaks {', '.join(sorted(set(turn.broken)))}"
            if turn.tokens > turn.window:
                yield f"{where} sends {turn.tokens} tokens into a window of {turn.window}"
