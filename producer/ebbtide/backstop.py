"""The provider's own context management, as a safety net behind Ebbtide.

It acts inside a request, while the user waits, so it must act only where Ebbtide could not: on a prompt that
is larger than estimated. Its trigger therefore lies halfway between the hard watermark and the window. Both
providers compare it with the prompt alone, so what the request asks for as output is taken off.

Field names, types and beta headers are those of the `anthropic` 2.14 and `openai` 3.57 SDKs; minimums and
models those of the providers' pages on compaction and context editing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from ebbtide_core.errors import InputError
from ebbtide_core.policy import Limits

BackstopKind = Literal["compaction", "tool_clearing"]

COMPACTION_BETA: Final = "compact-2026-01-12"
CLEARING_BETA: Final = "context-management-2025-06-27"
ANTHROPIC_LEAST_TRIGGER: Final = 50_000
OPENAI_LEAST_TRIGGER: Final = 1_000
TOOL_USES_KEPT: Final = 3
"""The provider's own default, said aloud."""

_WITHOUT_ANY: Final = re.compile(r"claude-(?:v?[123]\b|instant)", re.IGNORECASE)
_WITHOUT_COMPACTION: Final = re.compile(
    r"claude-(?:haiku-4|(?:opus|sonnet)-4(?![-.](?:[6-9]|[1-9]\d)(?!\d)))", re.IGNORECASE
)
"""Claude 3 and older edit no context; of Claude 4 only Opus and Sonnet 4.6 and later compact."""


@dataclass(frozen=True, slots=True)
class Backstop:
    """Arguments for the SDK's call, and a sentence on what they do or why there are none.

    `kwargs` go with every request of the session, since the header must come along as long as a block that
    the provider put into an answer is in the conversation. Hosts with `betas` of their own join the lists.
    """

    kwargs: dict[str, Any]
    note: str


def backstop(dialect_name: str, model: str, limits: Limits, kind: BackstopKind = "compaction") -> Backstop:
    """Return the provider's settings for a dialect, a model and a session's figures.

    * `anthropic`: for `client.beta.messages.create`. `compaction` summarises older context at the trigger;
      `tool_clearing` replaces all tool results but the newest three by a placeholder. Compaction takes no
      trigger below 50,000 tokens: where that exceeds the window (less output), and for models without it,
      tool clearing is returned instead. It has no least amount to clear: a net must hold whatever it costs.
    * `openai_responses`: for `client.responses.create`; compaction, of whichever kind was asked.
    * `openai` (Chat Completions) and any other dialect: nothing, and the note says so.

    Raises InputError for an unknown kind.
    """
    if kind not in ("compaction", "tool_clearing"):
        raise InputError(f"{kind!r} is neither compaction nor tool_clearing", path="kind")
    if dialect_name == "anthropic":
        return _anthropic(model, limits, kind)
    if dialect_name == "openai_responses":
        return _responses(limits)
    return Backstop({}, f"The dialect {dialect_name!r} has no context management of the provider's own.")


def _trigger(limits: Limits) -> int:
    """Return the prompt tokens at which the net acts: halfway from hard to the window, less the output."""
    return (limits.hard + limits.window + 1) // 2 - limits.max_tokens


def _anthropic(model: str, limits: Limits, kind: BackstopKind) -> Backstop:
    if _WITHOUT_ANY.search(model):
        return Backstop({}, f"The API manages no context for {model}.")
    if kind == "tool_clearing":
        return _clearing(limits, "")
    if _WITHOUT_COMPACTION.search(model):
        return _clearing(limits, f"The API does not compact for {model}. ")
    trigger = max(_trigger(limits), ANTHROPIC_LEAST_TRIGGER)
    if trigger + limits.max_tokens > limits.window:
        return _clearing(limits, f"The API compacts no prompt below {ANTHROPIC_LEAST_TRIGGER:,} tokens. ")
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": trigger}}
    return _edits(
        COMPACTION_BETA, edit, f"The API summarises older context from {trigger:,} prompt tokens on."
    )


def _clearing(limits: Limits, why: str) -> Backstop:
    trigger = max(_trigger(limits), 1)
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger},
        "keep": {"type": "tool_uses", "value": TOOL_USES_KEPT},
    }
    what = (
        f"The API clears all but the newest {TOOL_USES_KEPT} tool results from {trigger:,} prompt tokens on."
    )
    return _edits(CLEARING_BETA, edit, why + what)


def _edits(beta: str, edit: dict[str, Any], note: str) -> Backstop:
    return Backstop({"betas": [beta], "context_management": {"edits": [edit]}}, note)


def _responses(limits: Limits) -> Backstop:
    trigger = _trigger(limits)
    if trigger < OPENAI_LEAST_TRIGGER:
        return Backstop({}, f"The API compacts no prompt below {OPENAI_LEAST_TRIGGER:,} tokens.")
    entry = {"type": "compaction", "compact_threshold": trigger}
    return Backstop(
        {"context_management": [entry]}, f"The API compacts older context from {trigger:,} prompt tokens on."
    )
