"""Compaction as an agent harness asks for it: a shim decides when, a compactor makes the shorter history.

The run state, prepared turns, prompts and responses of a framework are told by shape; none is imported.
"""

from __future__ import annotations

from ebbtide.harness.bound import BoundCompactionShim
from ebbtide.harness.config import (
    CompactionShimConfig,
    DefaultCompactorConfig,
    OnFailure,
    SummaryPlacement,
)
from ebbtide.harness.constants import (
    BYTES_PER_TOKEN,
    DEFAULT_FAILURES_TO_PAUSE,
    DEFAULT_KEEP_RECENT_MESSAGES,
    DEFAULT_KEEP_RECENT_TOKENS,
    DEFAULT_PAUSE_TURNS,
    DEFAULT_SUMMARY_MAX_TOKENS,
    DEFAULT_TRIGGER_RATIO,
    MIN_BLOCKS_TO_SUMMARIZE,
    MIN_SHRINK_RATIO,
    NON_TEXT_PART_TOKENS,
    SUMMARY_CLOSE_TAG,
    SUMMARY_OPEN_TAG,
)
from ebbtide.harness.contract import CompactionRequest, CompactionResult, CompactionTrigger, Compactor
from ebbtide.harness.default import DefaultCompactor
from ebbtide.harness.errors import CompactionError, ContextOverflowError
from ebbtide.harness.estimate import TokenEstimator, estimate_message_tokens
from ebbtide.harness.items import ItemTest, is_ephemeral_message, is_internal_message
from ebbtide.harness.pool import PoolCompactor
from ebbtide.harness.prompt import (
    DEFAULT_COMPACTION_PROMPT,
    DEFAULT_SUMMARY_BRIDGE,
    DEFAULT_SUMMARY_ITEM_TEMPLATE,
)
from ebbtide.harness.render import render_request_messages
from ebbtide.harness.report import CompactionReport, OnCompact
from ebbtide.harness.shim import CompactionShim
from ebbtide.harness.signal import ContextSignal, ContextSource
from ebbtide.harness.summary_item import is_summary_item, render_summary_item

__all__ = [
    "BYTES_PER_TOKEN",
    "DEFAULT_COMPACTION_PROMPT",
    "DEFAULT_FAILURES_TO_PAUSE",
    "DEFAULT_KEEP_RECENT_MESSAGES",
    "DEFAULT_KEEP_RECENT_TOKENS",
    "DEFAULT_PAUSE_TURNS",
    "DEFAULT_SUMMARY_BRIDGE",
    "DEFAULT_SUMMARY_ITEM_TEMPLATE",
    "DEFAULT_SUMMARY_MAX_TOKENS",
    "DEFAULT_TRIGGER_RATIO",
    "MIN_BLOCKS_TO_SUMMARIZE",
    "MIN_SHRINK_RATIO",
    "NON_TEXT_PART_TOKENS",
    "SUMMARY_CLOSE_TAG",
    "SUMMARY_OPEN_TAG",
    "BoundCompactionShim",
    "CompactionError",
    "CompactionReport",
    "CompactionRequest",
    "CompactionResult",
    "CompactionShim",
    "CompactionShimConfig",
    "CompactionTrigger",
    "Compactor",
    "ContextOverflowError",
    "ContextSignal",
    "ContextSource",
    "DefaultCompactor",
    "DefaultCompactorConfig",
    "ItemTest",
    "OnCompact",
    "OnFailure",
    "PoolCompactor",
    "SummaryPlacement",
    "TokenEstimator",
    "estimate_message_tokens",
    "is_ephemeral_message",
    "is_internal_message",
    "is_summary_item",
    "render_request_messages",
    "render_summary_item",
]
