"""The figures and markers that the harness contract documents."""

from __future__ import annotations

from typing import Final

DEFAULT_TRIGGER_RATIO: Final = 0.9
"""Share of the context window at which compaction begins."""

DEFAULT_KEEP_RECENT_TOKENS: Final = 20_000
DEFAULT_KEEP_RECENT_MESSAGES: Final = 4
"""The tail that is kept: estimated tokens, and at least so many history items."""

DEFAULT_SUMMARY_MAX_TOKENS: Final = 4_096
"""Output cap of the call that writes a summary."""

BYTES_PER_TOKEN: Final = 4
NON_TEXT_PART_TOKENS: Final = 1_000
"""The local estimate: UTF-8 bytes a token, and the charge for each part of a content that is no text."""

MIN_BLOCKS_TO_SUMMARIZE: Final = 3
"""Fewer older blocks are not worth a call while the request is below the trigger."""

MIN_SHRINK_RATIO: Final = 0.9
"""The most that a replacement may measure, as a share of what it replaces."""

DEFAULT_FAILURES_TO_PAUSE: Final = 3
DEFAULT_PAUSE_TURNS: Final = 5
"""After so many failures in a row a shim calls its compactor again only so many turns later."""

SUMMARY_OPEN_TAG: Final = "<<COMPACTION_SUMMARY_V1_9B2D4C8F_BEGIN>>"
SUMMARY_CLOSE_TAG: Final = "<<COMPACTION_SUMMARY_V1_9B2D4C8F_END>>"
"""A summary item begins and ends with these."""
