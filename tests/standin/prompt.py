"""A request as the stand-in reads it: what is shown in it, what it weighs, what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from ebbtide_cli.replay.provider_rules import broken_rules
from ebbtide_core.budget.tokens import tokenizer
from tests.standin.errors import Error, invalid

MESSAGE_ID: Final = re.compile(r"MSGID-\w+")
"""The convention for ids of messages."""

ORDER: Final = re.compile(r"(?i)\bignore (?:all )?(?:previous|prior|earlier) instructions and ([^.\n\\\"<]+)")
"""An order to the model inside a message, and what it is told to do."""

_OF_COMPACTION: Final = frozenset({"compaction_misplaced", "compaction_repeated"})
_MESSAGE_KEYS: Final = frozenset({"role", "content"})
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SAMPLING: Final = {"temperature": 1, "top_p": 1, "top_k": None}


def roughly(text: str) -> int:
    """Return a plausible count: a token for four bytes, at least one."""
    return max(1, len(text.encode(errors="replace")) // 4)


def exactly(text: str) -> int:
    """Return what a tokenizer counts, at least one token."""
    return max(1, tokenizer().count(text))


def compact(value: Any) -> str:
    """Return a value as JSON in one line, all of Unicode as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Prompt:
    """What a request holds.

    `text`: system, tools and messages as JSON. `ids`: the `MSGID-…` in it, each once, in order. `schema`: the
    JSON schema asked for. `order`: what the first order to the model in it says to do, "" without one.
    `prefix`: system and tools if the request marks a cache, else "".
    """

    model: str
    max_tokens: int
    text: str
    ids: tuple[str, ...]
    schema: dict[str, Any] | None
    tools: tuple[str, ...]
    order: str
    prefix: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Prompt:
        """Return what a request that has no `problem` holds."""
        head = compact([body.get("system"), body.get("tools")])
        form = (body.get("output_config") or {}).get("format") or {}
        return cls.showing(
            head + compact(body["messages"]),
            model=body["model"],
            max_tokens=body.get("max_tokens", 0),
            schema=form.get("schema") if form.get("type") == "json_schema" else None,
            tools=tuple(tool.get("name", "") for tool in body.get("tools") or ()),
            prefix=head if "cache_control" in compact(body) else "",
        )

    @classmethod
    def showing(cls, text: str, **fields: Any) -> Prompt:
        """Return the prompt of this text, with what can be seen in it."""
        order = ORDER.search(text)
        ids = tuple(dict.fromkeys(MESSAGE_ID.findall(text)))
        return cls(text=text, ids=ids, order=order.group(1).strip() if order else "", **fields)

    def overflow(self, window: int) -> int:
        """Return the tokens of a prompt that the window does not hold, by real count; 0 when it does.

        A token is at least a byte, so most prompts need no tokenizer.
        """
        if len(self.text.encode(errors="replace")) <= window:
            return 0
        tokens = exactly(self.text)
        return tokens if tokens > window else 0


def is_json(body: Any) -> bool:
    """Say whether a request is a JSON object; a lone surrogate makes it none."""
    return isinstance(body, dict) and not _LONE_SURROGATE.search(compact(body))


def problem(key: str, version: str, body: Any, *, counting: bool = False) -> Error | None:
    """Return the error of a request that the API rejects, else None.

    `key` and `version` are those of the headers, "" when absent. Compaction has rules of its own, see
    `compaction.problem`.
    """
    if not key:
        return Error(401, "x-api-key header is required")
    if not version:
        return invalid("anthropic-version: header is required")
    if not is_json(body):
        return invalid("The request body is not valid JSON")
    compacting = body.get("compaction") is not None
    wrong = next(
        chain(_wrong_fields(body, counting), _wrong_messages(body.get("messages"), compacting)), None
    )
    return None if wrong is None else invalid(wrong)


def _wrong_fields(body: dict[str, Any], counting: bool) -> Iterator[str]:
    if not isinstance(body.get("model"), str):
        yield "model: Field required"
    if not counting and (not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1):
        yield "max_tokens: Field required, at least 1"
    if not isinstance(body.get("output_config", {}), dict):
        yield "output_config: Input should be an object"
    yield from (
        f"{name}: not supported by this model"
        for name, usual in _SAMPLING.items()
        if body.get(name, usual) != usual
    )
    if body.get("stream"):
        yield "stream: this server answers in one piece only"


def _wrong_messages(messages: Any, compacting: bool) -> Iterator[str]:
    """Where a compaction block stands is no matter of this function; a compaction may end with an answer."""
    if not isinstance(messages, list) or not (messages or compacting):
        yield "messages: at least one message is required"
        return
    rules = broken_rules("anthropic", messages)
    yield from (f"messages.{index}: {rule}" for rule, index in rules if rule not in _OF_COMPACTION)
    for index, message in enumerate(messages):
        yield from (
            f"messages.{index}.{k}: Extra inputs are not permitted" for k in message.keys() - _MESSAGE_KEYS
        )
    if messages and not compacting and messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill: end with a user message"
