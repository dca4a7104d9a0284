"""Versions rise, and each names one body for ever."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from chaos.evidence import Evidence


def rising(found: Evidence) -> Iterator[str]:
    """Within an incarnation the versions that a session swaps in rise strictly.

    A host that keeps its raw history remembers none when it comes back: its next process begins anew, with
    any record that it can have.
    """
    for session, swaps in found.swaps.items():
        last: dict[tuple[str, int], int] = {}
        for turn, swap in swaps:
            host = (swap.incarnation, turn.life if turn.raw else 0)
            version = last.get(host, 0)
            if not swap.again and swap.version <= version:
                yield (
                    f"{session}, turn with {turn.said} messages, swaps version {swap.version} of "
                    f"{swap.incarnation} in after version {version}"
                )
            last[host] = max(version, swap.version)


def one_body(found: Evidence) -> Iterator[str]:
    """A version of an incarnation has one body, whoever saw it, and whenever: nothing is published twice."""
    bodies = defaultdict[tuple[str, str, int], set[str]](set)
    for seen in found.sightings:
        bodies[seen.session, seen.incarnation, seen.version].add(seen.body)
    for session, swaps in found.swaps.items():
        for _, swap in swaps:
            bodies[session, swap.incarnation, swap.version].add(swap.body)
    for (session, incarnation, version), names in bodies.items():
        if len(names) > 1:
            yield f"{session}, version {version} of {incarnation}, has the bodies {', '.join(sorted(names))}"
