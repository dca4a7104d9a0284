"""Rung bare: the newest exchange alone, its results shortened if need be; not even the summary before it."""

from __future__ import annotations

from dataclasses import replace

from ebbtide_core.lineage.buffer import Kind
from ebbtide_core.views.clip import clipped
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.truncate import view_of
from ebbtide_core.views.view import Rung, View


def bare(ground: Ground) -> View | None:
    """Return the smallest view there is; None when neither the summary and what it carries nor a compaction
    of the provider's takes part in the size.

    What is pinned or ephemeral, and system messages, stay even here.
    """
    if not any(e.is_base or e.kind in (Kind.SUMMARY, Kind.CARRIED) for e in ground.entries):
        return None
    alone = replace(ground, bare=True)
    whole = view_of(alone, range(alone.newest, len(alone.runs)), Rung.BARE)
    if whole is not None and whole.tokens <= ground.room:
        return whole
    shorter = clipped(alone)
    return replace(shorter, rung=Rung.BARE) if shorter is not None else whole
