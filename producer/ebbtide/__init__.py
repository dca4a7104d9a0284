"""Ebbtide for agent hosts: keep long sessions inside the context window without waiting for a summary.

from ebbtide import Pool
"""

from __future__ import annotations

from ebbtide.aio import AsyncPool, AsyncSession
from ebbtide.backstop import Backstop
from ebbtide.pool import Pool
from ebbtide.proposal import SwapProposal
from ebbtide.pruning import prune
from ebbtide.session import Session
from ebbtide.turn import Report, Swapped, Turn
from ebbtide_core.contract.tenant import BlockReason, Refusal
from ebbtide_core.decide import Action, Reason
from ebbtide_core.errors import EbbtideError, InputError, LimitError, StoreUnavailable, UnfittableRequest
from ebbtide_core.lineage.marks import mark
from ebbtide_core.policy import Mode, Policy

__all__ = [
    "Action",
    "AsyncPool",
    "AsyncSession",
    "Backstop",
    "BlockReason",
    "EbbtideError",
    "InputError",
    "LimitError",
    "Mode",
    "Policy",
    "Pool",
    "Reason",
    "Refusal",
    "Report",
    "Session",
    "StoreUnavailable",
    "SwapProposal",
    "Swapped",
    "Turn",
    "UnfittableRequest",
    "mark",
    "prune",
]
