"""The next batch of superseded results that a session could leave out."""

from __future__ import annotations

from dataclasses import dataclass

from ebbtide.turns.memory import Memory
from ebbtide.turns.pruned import pruned
from ebbtide.turns.standing import Standing
from ebbtide_core.budget.measure import scaled
from ebbtide_core.views.prune import Superseded, superseded


@dataclass(frozen=True, slots=True)
class Batch:
    """Results that newer ones supersede, and the size of the request without them, in the model's tokens."""

    gone: tuple[Superseded, ...]
    total: int


def next_batch(memory: Memory, at: Standing) -> Batch | None:
    """Return what could be left out of a buffer beyond what is; None when that is nothing, or not worth it.

    Leaving a result out makes all that follows it new to the provider's cache. So below hard there is one
    batch for each summary (or before the first), and only if it saves `prune_min_tokens`.
    """
    over = at.total >= at.limits.hard
    if not over and memory.pruning.epoch == at.buffer.chain.base.count:
        return None
    known = {(s.lineage, s.call_id) for s in at.pruned.gone}
    found = superseded(at.buffer, memory.identity)
    more = tuple(s for s in found if (s.lineage, s.call_id) not in known)
    if not more:
        return None
    saved = pruned(at.sizes, (*at.pruned.gone, *more)).total_saved - at.pruned.total_saved
    if saved <= 0 or (not over and scaled(saved, at.ratio) < memory.policy.prune_min_tokens):
        return None
    return Batch(more, at.total - scaled(saved, at.ratio))
