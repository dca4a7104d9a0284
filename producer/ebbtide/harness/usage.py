"""What a model response says it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def usage_of(response: Any) -> tuple[int, int, int] | None:
    """Return prompt, completion and total tokens; None when the response does not tell."""
    usage = getattr(response, "usage", None)
    found = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    prompt, completion, total = (value if isinstance(value, int) else None for value in found)
    if prompt is None or completion is None or total is None:
        return None
    return prompt, completion, total


def latest_total(responses: Sequence[Any]) -> int | None:
    """Return the total tokens of the newest response that tells."""
    known = (usage_of(response) for response in reversed(responses))
    return next((usage[2] for usage in known if usage is not None), None)
