"""The keys that the files of `ebbtide replay` have, in their order: what readers rely on."""

from __future__ import annotations

from typing import Final

FIGURE_KEYS: Final = [
    "turns",
    "messages",
    "peak_projected_tokens",
    "context_window",
    "jobs_enqueued",
    "versions_published",
    "swaps",
    "swaps_in_a_row",
    "small_swaps",
    "pruned_turns",
    "degraded_turns",
    "unfittable_turns",
    "rejected",
    "requests_over_window",
    "invalid_requests",
    "uncovered_messages",
    "declared_omitted_messages",
    "stall_ms",
]
SESSION_KEYS: Final = ["id", *FIGURE_KEYS]
SWAP_KEYS: Final = [
    "session",
    "turn",
    "action",
    "reason",
    "degraded",
    "system",
    "before",
    "after",
    "view",
    "carried",
    "record",
]
