"""The default compactor: a summary, written in process by the run's own model, and the recent tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebbtide.harness.config import DefaultCompactorConfig
from ebbtide.harness.constants import MIN_BLOCKS_TO_SUMMARIZE, MIN_SHRINK_RATIO
from ebbtide.harness.contract import CompactionRequest, CompactionResult, output_cap, unchanged
from ebbtide.harness.errors import CompactionError, ContextOverflowError
from ebbtide.harness.items import Item, ItemTest, is_ephemeral_message, is_internal_message, read_item
from ebbtide.harness.render import HistoryItem, render_request_messages
from ebbtide.harness.summary_item import render_summary_item
from ebbtide.harness.tail import Split, split
from ebbtide_core.dialects.base import PlainMessage


class DefaultCompactor:
    """Replaces the older history by one summary item; a summary found there is summarised again with it.

    `is_ephemeral` and `is_internal` tell those items of a framework that has marks of its own.
    """

    def __init__(
        self,
        config: DefaultCompactorConfig | None = None,
        *,
        is_ephemeral: ItemTest = is_ephemeral_message,
        is_internal: ItemTest = is_internal_message,
    ) -> None:
        self._config = config or DefaultCompactorConfig()
        self._is_ephemeral = is_ephemeral
        self._is_internal = is_internal

    @property
    def config(self) -> DefaultCompactorConfig:
        """The settings in force."""
        return self._config

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        """Return the shorter history, or the same when there is too little to summarise.

        Raises ContextOverflowError when the call for a summary would not fit the window, CompactionError when
        the summary is empty or the replacement hardly smaller, ValueError for a history that can't be
        rendered, and whatever the model raises.
        """
        args = self._call_args(request.model_args)
        parts = self._split(request, output_cap(args))
        if not _worthwhile(parts, request):
            return unchanged(request.history)
        response = await self._ask(request, parts, args)
        summary = render_summary_item(bridge=self._config.summary_bridge, summary_text=_text_of(response))
        history = self._placed(summary, [item.value for item in parts.kept])
        _check_shrinks(history, request, response)
        return CompactionResult(
            history=history,
            summary_content=summary["content"],
            dropped_items=tuple(item.value for item in parts.head),
            summarizer_response=response,
        )

    def _call_args(self, model_args: dict[str, Any] | None) -> dict[str, Any] | None:
        args = dict(model_args or {})
        cap = self._config.summary_max_tokens
        if cap is not None and not {"max_tokens", "max_output_tokens"} & args.keys():
            args["max_tokens"] = cap
        return args or None

    def _split(self, request: CompactionRequest, cap: int) -> Split:
        items = [read_item(value, self._is_ephemeral, self._is_internal) for value in request.history]

        def cost(part: Sequence[Item]) -> int:
            return request.estimator(render_request_messages(None, [item.value for item in part]))

        ephemeral = [item for item in items if item.ephemeral]
        taken = request.signal.instructions_tokens + cap + (cost(ephemeral) if ephemeral else 0)
        room = max(1, request.signal.trigger_tokens - taken)
        keep_tokens = min(self._config.keep_recent_tokens, room)
        return split(items, cost, keep_tokens, self._config.keep_recent_messages)

    async def _ask(self, request: CompactionRequest, parts: Split, args: dict[str, Any] | None) -> Any:
        messages: list[PlainMessage] = [
            {"role": "system", "content": self._config.prompt},
            *render_request_messages(request.instructions, ()),
            *(message for item in parts.head for message in item.for_summary()),
        ]
        needed, window = request.estimator(messages) + output_cap(args), request.signal.context_window
        if needed > window:
            raise ContextOverflowError(
                f"the call for a summary would exceed the context window: about {needed} tokens of {window}. "
                "Compact earlier (a lower trigger), or lower summary_max_tokens."
            )
        return await request.model(messages, extra_call_args=args)

    def _placed(self, summary: PlainMessage, kept: list[HistoryItem]) -> list[HistoryItem]:
        return [*kept, summary] if self._config.summary_placement == "after_tail" else [summary, *kept]


def _worthwhile(parts: Split, request: CompactionRequest) -> bool:
    """Below the trigger only what is new and enough, or adds to a summary, is worth a call."""
    if not parts.head:
        return False
    if request.signal.estimated_tokens >= request.signal.trigger_tokens:
        return True
    return parts.blocks >= (1 if parts.resummarised else MIN_BLOCKS_TO_SUMMARIZE)


def _text_of(response: Any) -> str:
    choices = getattr(response, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    content = getattr(message, "content", None)
    text = content.strip() if isinstance(content, str) else ""
    if not text:
        raise CompactionError(
            "the model returned an empty summary; see its response for the reason",
            summarizer_response=response,
        )
    return text


def _check_shrinks(history: list[HistoryItem], request: CompactionRequest, response: Any) -> None:
    before = request.estimator(render_request_messages(None, request.history))
    after = request.estimator(render_request_messages(None, history))
    if before > 0 and after > MIN_SHRINK_RATIO * before:
        raise CompactionError(
            f"the replacement did not shrink the history enough: about {after} tokens of {before}, at most "
            f"{MIN_SHRINK_RATIO:.0%} allowed. Keep a smaller tail, or cap the summary.",
            summarizer_response=response,
        )
