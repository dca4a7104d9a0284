"""Native compaction (beta `compact-2026-09-04`): what the API rejects, and the signed block it returns.

Rules and codes are those of the API's page "Compaction on demand" and of the SDK's error classes. A rule that
has no code there has none here. Tool changes are left out: no block tells of any, and one that is sent back
with some was changed.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from tests.standin import answers, summaries
from tests.standin.behaviour import Behaviour
from tests.standin.errors import Error, invalid
from tests.standin.kinds import Kind
from tests.standin.prompt import Prompt

Json = dict[str, Any]

BETA: Final = "compact-2026-09-04"
MAX_INSTRUCTIONS: Final = 16_384

_UNABLE: Final = ("claude-haiku-4", "claude-opus-4-5", "claude-sonnet-4-5", "claude-3")
_NEVER_WITH: Final = ("context_management", "stop_sequences")
_ISSUED: Final = frozenset({"type", "content", "signature"})
_DIGEST: Final = "blake2b"
_BYTES: Final = 64


class Seal:
    """Signs compaction blocks with a secret of its own, and knows them again."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def block(self, content: str) -> Json:
        """Return the block of a summary."""
        told = self._digest(content.encode())
        signature = b64encode(told + self._digest(told)).decode()
        return {"type": "compaction", "content": content, "signature": signature}

    def problem(self, block: Json) -> Error | None:
        """Return the error of a block that is not, byte for byte, one of `block`."""
        try:
            signed = b64decode(block.get("signature") or "", validate=True)
        except (NoBase64, TypeError, ValueError):
            signed = b""
        told, own = signed[:_BYTES], signed[_BYTES:]
        if not signed or not hmac.compare_digest(own, self._digest(told)):
            return invalid(
                "the `compaction` block has an invalid `signature`", "compaction_signature_invalid"
            )
        content = block.get("content")
        if not isinstance(content, str) or not hmac.compare_digest(told, self._digest(content.encode())):
            message = "the `compaction` block's `content` does not match its `signature`"
            return invalid(message, "compaction_content_mismatch")
        return None

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, data, _DIGEST)


def problem(body: Json, betas: list[str], seal: Seal) -> Error | None:
    """Return the error of a request that breaks a rule of compaction; None for one without compaction."""
    return next(chain(_wrong_blocks(body, betas, seal), _wrong_request(body, betas)), None)


def _blocks(body: Json) -> Iterator[tuple[int, int, Json]]:
    """Yield each compaction block, and of which message which block it is."""
    for index, message in enumerate(body["messages"]):
        for at, block in enumerate(_content(message)):
            if block.get("type") == "compaction":
                yield index, at, block


def _content(message: Json) -> list[Json]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _wrong_blocks(body: Json, betas: list[str], seal: Seal) -> Iterator[Error]:
    found = list(_blocks(body))
    if not found:
        return
    index, at, block = found[0]
    place = f"messages.{index}.content.{at}"
    if BETA not in betas:
        yield invalid(f"{place}: 'compaction' is none of the expected content block types")
    if len(found) > 1:
        yield invalid("messages: more than one `compaction` block", "compaction_block_ambiguous")
    if (index, at) != (0, 0) or body["messages"][0]["role"] == "system":
        yield invalid(f"{place}: the `compaction` block must come first", "compaction_block_misplaced")
    for name in sorted(block.keys() - _ISSUED - {"cache_control"}):
        yield invalid(f"{place}.compaction.{name}: Extra inputs are not permitted")
    if (wrong := seal.problem(block)) is not None:
        yield wrong
    if _remaining(body):
        yield invalid("output_config.task_budget.remaining: not with a `compaction` block")


def _wrong_request(body: Json, betas: list[str]) -> Iterator[Error]:
    asked = body.get("compaction")
    if asked is None:
        return
    if BETA not in betas:
        yield invalid(f"compaction: requires anthropic-beta: {BETA}")
    if not isinstance(asked, dict) or asked.get("type") != "summarize":
        yield invalid("compaction.type: Input should be 'summarize'")
    elif len(asked.get("instructions") or "") > MAX_INSTRUCTIONS:
        yield invalid(f"compaction.instructions: at most {MAX_INSTRUCTIONS} characters")
    if body["model"].startswith(_UNABLE):
        yield invalid(f"compaction: {body['model']} does not support it")
    yield from (invalid(f"{name}: can't be combined with `compaction`") for name in _combined(body))
    messages = [message for message in body["messages"] if message["role"] != "system"]
    if not messages:
        yield invalid("messages: there is nothing to summarize", "compaction_nothing_to_summarize")
    elif _called(messages[-1]):
        yield invalid("messages: the last turn's tool calls have no results", "compaction_incomplete_turn")


def _combined(body: Json) -> Iterator[str]:
    yield from (name for name in _NEVER_WITH if body.get(name) is not None)
    if (body.get("output_config") or {}).get("format") is not None:
        yield "output_config.format"
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "tool_choice"
    if _remaining(body):
        yield "output_config.task_budget.remaining"


def _remaining(body: Json) -> bool:
    budget = (body.get("output_config") or {}).get("task_budget") or {}
    return budget.get("remaining") is not None


def _called(message: Json) -> bool:
    return message["role"] == "assistant" and any(b.get("type") == "tool_use" for b in _content(message))


def message(
    prompt: Prompt, behaviour: Behaviour, number: int, warm: bool, count: answers.Count, seal: Seal
) -> Json:
    """Return the answer to a compaction request: the block alone, or with no summary no content.

    What it cost is in `usage.iterations` only.
    """
    body = answers.envelope(prompt, number)
    if behaviour.kind is Kind.NULL:
        return {**body, "content": None, "stop_reason": None}
    text = "" if behaviour.stops else summaries.text(prompt, behaviour)
    whole = answers.usage(prompt, text, warm, count)
    tier = whole.pop("service_tier")
    return {
        **body,
        "content": [seal.block(text)] if text else [],
        "stop_reason": "compaction" if text else behaviour.stops or "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 0,
            "output_tokens": 0,
            "service_tier": tier,
            "iterations": [{"type": "compaction", **whole}],
        },
    }
