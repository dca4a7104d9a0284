"""The summariser that asks a Claude model: one call a chunk, one call a merge."""

from __future__ import annotations

import os
import secrets
from asyncio import Lock, to_thread
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ebbtide_core.jsonio import digest
from ebbtide_core.summary.model import Summary
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.summarisers import forms
from ebbtide_worker.summarisers.base import Chunk, FaultKind, Partial, SummariserFault, Terms
from ebbtide_worker.summarisers.forms import JOINED, NOTES, Marks, Request

if TYPE_CHECKING:
    from ebbtide_worker.summarisers.messages_api import MessagesApi

MODEL: Final = "claude-haiku-5-5"
KEY_ENV: Final = "ANTHROPIC_API_KEY"
DEADLINE: Final = 120.0

WINDOW: Final = 200_000
"""The smallest window of the models in use. Half of it, the most that a call is given to read, is also where
the price of the default model's prompts rises fivefold.
"""

_VERSION: Final = b"2"
"""Rises when a request changes otherwise than by its model, prompts or schema."""


def _word() -> str:
    return secrets.token_hex(8)


class Anthropic:
    """Asks a model for notes on each chunk, and for the prose above merged notes.

    `key_env` names the environment variable that holds the key, which is read when the first call is made and
    kept by the client alone. `deadline` bounds each call, in seconds. `marks` gives the words that set data
    apart from what the model is told.
    """

    name = "anthropic"
    window = WINDOW

    def __init__(
        self,
        *,
        model: str = "",
        base_url: str = "",
        key_env: str = "",
        deadline: float = DEADLINE,
        marks: Marks = _word,
    ) -> None:
        self.model = model or MODEL
        self.fingerprint = fingerprint(self.model)
        self._base_url = base_url
        self._key_env = key_env or KEY_ENV
        self._deadline = deadline
        self._marks = marks
        self._api: MessagesApi | None = None
        self._connecting = Lock()

    @classmethod
    def of(cls, config: WorkerConfig) -> Anthropic:
        """Return the summariser that a worker's settings describe. Nothing is read or connected yet."""
        return cls(model=config.model, base_url=config.base_url, key_env=config.key_env)

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Return the model's notes on one chunk. Raises SummariserFault."""
        partial = await self._asked(forms.notes(chunk, terms, self._marks))
        language = forms.language(terms) or partial.summary.language
        return replace(partial, summary=partial.summary.model_copy(update={"language": language}))

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Return a summary with the model's prose for base and parts, and nothing else. Raises
        SummariserFault.
        """
        return await self._asked(forms.joined(parts, base, terms, self._marks))

    async def close(self) -> None:
        """Close connections; a later call would connect anew."""
        async with self._connecting:
            api, self._api = self._api, None
        if api is not None:
            await api.close()

    async def _asked(self, request: Request) -> Partial:
        async with self._connecting:
            if self._api is None:
                self._api = await to_thread(self._connect)
            api = self._api
        return await api.ask(request)

    def _connect(self) -> MessagesApi:
        """Load the SDK, which takes a second or more, and make the client. Raises SummariserFault (AUTH)."""
        from ebbtide_worker.summarisers.messages_api import MessagesApi

        key = _key(self._key_env)
        return MessagesApi(model=self.model, base_url=self._base_url, key=key, deadline=self._deadline)


def fingerprint(model: str) -> str:
    """Return the digest of all that decides what the summariser answers: model, prompts, schemas."""
    return digest(b"ebbtide/anthropic", _VERSION, model.encode(), *NOTES.definition, *JOINED.definition).hex()


def _key(name: str) -> str:
    key = os.environ.get(name, "").strip()
    if not key:
        raise SummariserFault(FaultKind.AUTH, f"set {name} in the worker's environment")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SummariserFault(FaultKind.AUTH, f"{name} holds characters that no key has: set it anew")
    return key
