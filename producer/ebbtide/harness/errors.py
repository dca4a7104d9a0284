"""Why a compaction gave no replacement history."""

from __future__ import annotations

from typing import Any

from ebbtide_core.errors import EbbtideError


class CompactionError(EbbtideError, RuntimeError):
    """A compaction gave no valid replacement: keep the history, and look at the message for what to change.

    `summarizer_response` is what the model answered when it was called and its answer was of no use, so that
    the tokens spent are not lost to accounting.
    """

    def __init__(self, message: str, *, summarizer_response: Any = None) -> None:
        self.summarizer_response = summarizer_response
        super().__init__(message)


class ContextOverflowError(CompactionError):
    """The request does not fit the context window: give a larger window or a smaller output cap."""
