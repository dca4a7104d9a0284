"""What the API says to one request: decided here, sent by the handler."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.standin import answers, chat, compaction, context, errors, openai_errors, responses
from tests.standin.behaviour import Behaviour
from tests.standin.errors import Error, error_of
from tests.standin.kinds import Kind
from tests.standin.log import Entry
from tests.standin.prompt import Prompt, exactly, problem, roughly

if TYPE_CHECKING:
    from tests.standin.server import StandIn

MESSAGES: Final = "/v1/messages"
COUNT: Final = "/v1/messages/count_tokens"
REJECTED: Final = "rejected"
COUNTED: Final = "counted"


class OpenAI(Protocol):
    """One of OpenAI's APIs: what it rejects, how it is read, how it answers."""

    def problem(self, key: str, body: Any) -> Error | None:
        """Return the error of a request that the API rejects, else None."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        """Return what a request that has no `problem` holds."""

    def message(
        self, prompt: Prompt, behaviour: Behaviour, number: int, count: answers.Count
    ) -> dict[str, Any]:
        """Return the body of an answer."""


OPENAI: Final[dict[str, OpenAI]] = {"/v1/chat/completions": chat, "/v1/responses": responses}


class Way(StrEnum):
    """How much of a response is sent before the connection is closed, if it is."""

    WHOLE = "whole"
    HALF = "half"
    NONE = "none"


@dataclass(frozen=True)
class Reply:
    """`outcome` for the log; `wait`: seconds before it; `body`: JSON, or a page as text."""

    outcome: str
    status: int = 0
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    way: Way = Way.WHOLE

    @property
    def usage(self) -> dict[str, Any] | None:
        """What the client pays for and is told."""
        told = self.body.get("usage") if isinstance(self.body, dict) and self.way is Way.WHOLE else None
        return told if isinstance(told, dict) else None


def reply(standin: StandIn, entry: Entry, *, key: str, version: str, size: int) -> Reply:
    """Return what to say to a request of `size` bytes; `key` and `version` are its headers', "" without."""
    body = entry.body
    if size > standin.script.max_bytes:
        return _failed(REJECTED, errors.PRESETS[Kind.TOO_LARGE], entry)
    if (openai := OPENAI.get(entry.path)) is not None:
        if (wrong := openai.problem(key, body)) is not None:
            return _failed(REJECTED, wrong, entry)
        return _message(standin, entry, openai.prompt(body))
    if entry.path not in (MESSAGES, COUNT):
        return _failed(REJECTED, Error(404, f"Not found: {entry.path}"), entry)
    counting = entry.path == COUNT
    if isinstance(body, dict) and counting:
        body = {name: value for name, value in body.items() if name != "compaction"}
    wrong = problem(key, version, body, counting=counting)
    wrong = wrong or compaction.problem(body, entry.betas, standin.seal) or context.problem(body, entry.betas)
    if wrong is not None:
        return _failed(REJECTED, wrong, entry)
    prompt = Prompt.of(body)
    if counting:
        return _told(COUNTED, {"input_tokens": exactly(prompt.text)}, entry)
    return _message(standin, entry, prompt)


def _message(standin: StandIn, entry: Entry, prompt: Prompt) -> Reply:
    entry.ids = list(prompt.ids)
    script = standin.script
    if tokens := prompt.overflow(script.window):
        return _failed(REJECTED, _shapes(entry).too_long(tokens, script.window), entry)
    count = exactly if script.exact else roughly
    left = script.meter.ask(entry.key, count(prompt.text), entry.in_flight, time.monotonic())
    if left.error is not None:
        kind = Kind.RATE_LIMITED if left.error.status == 429 else Kind.OVERLOADED
        found = _failed(kind, left.error, entry)
    else:
        behaviour = script.next(prompt.text)
        found = _treated(standin, entry, prompt, behaviour)
    return replace(found, headers={**left.headers, **found.headers})


def _treated(standin: StandIn, entry: Entry, prompt: Prompt, behaviour: Behaviour) -> Reply:
    kind = behaviour.kind
    wait = behaviour.latency if isinstance(behaviour.latency, float) else 0.0
    if kind is Kind.HANG:
        return Reply(kind, wait=behaviour.seconds, way=Way.NONE)
    if kind is Kind.DROP:
        return Reply(kind, wait=wait, way=Way.NONE)
    if (error := error_of(behaviour, _shapes(entry).PRESETS)) is not None:
        return replace(_failed(kind, error, entry), wait=wait)
    if kind is Kind.HTML:
        return Reply(kind, behaviour.status or 200, answers.PAGE, wait=wait)
    count = exactly if standin.script.exact else roughly
    warm = standin.warm(prompt)
    if (openai := OPENAI.get(entry.path)) is not None:
        body = openai.message(prompt, behaviour, entry.number, count)
    elif entry.body.get("compaction") is not None:
        body = compaction.message(prompt, behaviour, entry.number, warm, count, standin.seal)
    else:
        body = answers.message(prompt, behaviour, entry.number, warm, count)
    way = Way.HALF if kind is Kind.CUT else Way.WHOLE
    return replace(_told(kind, body, entry), wait=wait, way=way)


def _told(outcome: str, body: dict[str, Any], entry: Entry) -> Reply:
    return Reply(outcome, 200, body, _named(entry))


def _failed(outcome: str, error: Error, entry: Entry) -> Reply:
    body = openai_errors.body(error) if entry.path in OPENAI else error.body(entry.request_id)
    return Reply(outcome, error.status, body, {**_named(entry), **error.headers})


def _named(entry: Entry) -> dict[str, str]:
    return {"x-request-id" if entry.path in OPENAI else "request-id": entry.request_id}


def _shapes(entry: Entry) -> ModuleType:
    """Return the module that holds the errors of the API that was asked."""
    return openai_errors if entry.path in OPENAI else errors


def encoded(body: Any) -> tuple[bytes, str]:
    """Return the bytes of a body and their content type."""
    if isinstance(body, str):
        return body.encode(), "text/html; charset=utf-8"
    return json.dumps(body, ensure_ascii=False).encode(errors="replace"), "application/json"
