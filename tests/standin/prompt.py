"""A request as the stand-in reads it: what is shown in it, what it weighs, what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from ebbtide_cli.replay.provider_rules import broken_rules

MESSAGE_ID: Final = re.compile(r"MSGID-\w+")
"""The convention for ids of messages."""

_MESSAGE_KEYS: Final = frozenset({"role", "content"})
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SAMPLING: Final = {"temperature": 1, "top_p": 1, "top_k": None}


def tokens(text: str) -> int:
    """Return a plausible count: a token for four bytes, at least one."""
    return max(1, len(text.encode(errors="replace")) // 4)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Prompt:
    """What a request holds.

    `text`: system, tools and messages as JSON. `ids`: the `MSGID-…` in it, each once, in order. `schema`: the
    JSON schema asked for. `prefix`: system and tools if the request marks a cache, else "".
    """

    model: str
    max_tokens: int
    text: str
    ids: tuple[str, ...]
    schema: dict[str, Any] | None
    tools: tuple[str, ...]
    prefix: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Prompt:
        """Return what a request that has no `problem` holds."""
        head = _compact([body.get("system"), body.get("tools")])
        text = head + _compact(body["messages"])
        form = (body.get("output_config") or {}).get("format") or {}
        return cls(
            model=body["model"],
            max_tokens=body.get("max_tokens", 0),
            text=text,
            ids=tuple(dict.fromkeys(MESSAGE_ID.findall(text))),
            schema=form.get("schema") if form.get("type") == "json_schema" else None,
            tools=tuple(tool.get("name", "") for tool in body.get("tools") or ()),
            prefix=head if "cache_control" in _compact(body) else "",
        )

    @property
    def tokens(self) -> int:
        """What the prompt weighs."""
        return tokens(self.text)


def problem(key: str, version: str, body: Any, *, counting: bool = False) -> tuple[int, str] | None:
    """Return status and message for a request that the API rejects, else None.

    `key` and `version` are those of the headers, "" when absent.
    """
    if not key:
        return 401, "x-api-key header is required"
    if not version:
        return 400, "anthropic-version: header is required"
    if not isinstance(body, dict) or _LONE_SURROGATE.search(_compact(body)):
        return 400, "The request body is not valid JSON"
    wrong = next(chain(_wrong_fields(body, counting), _wrong_messages(body.get("messages"))), None)
    return (400, wrong) if wrong else None


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


def _wrong_messages(messages: Any) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from (f"messages.{index}: {rule}" for rule, index in broken_rules("anthropic", messages))
    for index, message in enumerate(messages):
        yield from (
            f"messages.{index}.{k}: Extra inputs are not permitted" for k in message.keys() - _MESSAGE_KEYS
        )
    if messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill: end with a user message"
