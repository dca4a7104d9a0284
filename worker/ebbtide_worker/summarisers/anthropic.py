"""The summariser that asks a Claude model: one call a chunk, one call a merge."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ebbtide_core.contract.tenant import Hop
from ebbtide_core.jsonio import digest
from ebbtide_core.summary.model import Summary
from ebbtide_worker.config import CALL_DEADLINE, WorkerConfig
from ebbtide_worker.credentials import Credentials
from ebbtide_worker.summarisers import forms
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms
from ebbtide_worker.summarisers.connections import Connections
from ebbtide_worker.summarisers.forms import JOINED, NOTES, Marks, Request

if TYPE_CHECKING:
    from ebbtide_worker.summarisers.messages_api import MessagesApi

MODEL: Final = "claude-haiku-5-5"
KEY_ENV: Final = "ANTHROPIC_API_KEY"

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

    `reference` says where the key is found, which is read for each call and kept by the client alone.
    `deadline` bounds each call, in seconds. `marks` gives the words that set data apart from what the
    model is told.
    """

    name = "anthropic"
    window = WINDOW

    def __init__(
        self,
        *,
        model: str = "",
        base_url: str = "",
        reference: str = "",
        credentials: Credentials | None = None,
        deadline: float = CALL_DEADLINE,
        marks: Marks = _word,
        connections: Connections | None = None,
    ) -> None:
        self.model = model or MODEL
        self.fingerprint = fingerprint(self.model)
        self._base_url = base_url
        self._reference = reference or f"env:{KEY_ENV}"
        self._credentials = credentials or Credentials()
        self._deadline = deadline
        self._marks = marks
        self._connections = connections or Connections(self._connect)

    @classmethod
    def of(cls, config: WorkerConfig) -> Anthropic:
        """Return the summariser that a worker's settings describe. Nothing is read or connected yet."""
        return cls(
            model=config.model,
            base_url=config.base_url,
            reference=f"env:{config.key_env}" if config.key_env else "",
            credentials=Credentials(config.credentials),
            deadline=config.call_deadline,
        )

    def at(self, hop: Hop) -> Anthropic:
        """Return the summariser of a hop, which shares this one's connections; what the hop leaves empty is
        as here.
        """
        return Anthropic(
            model=hop.model or self.model,
            base_url=hop.base_url or self._base_url,
            reference=hop.credentials or self._reference,
            credentials=self._credentials,
            deadline=self._deadline,
            marks=self._marks,
            connections=self._connections,
        )

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Return the model's notes on one chunk. Raises SummariserFault."""
        partial = await self._asked(forms.notes(chunk, terms, self._marks), terms.tenant)
        language = forms.language(terms) or partial.summary.language
        return replace(partial, summary=partial.summary.model_copy(update={"language": language}))

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Return a summary with the model's prose for base and parts, and nothing else. Raises
        SummariserFault.
        """
        return await self._asked(forms.joined(parts, base, terms, self._marks), terms.tenant)

    async def close(self) -> None:
        """Close all connections, those of other hops too; a later call connects anew."""
        await self._connections.close()

    async def _asked(self, request: Request, tenant: str) -> Partial:
        key = await self._credentials.secret(self._reference, tenant)
        async with self._connections.client(tenant, self._reference, self._base_url, key) as api:
            return await api.ask(self.model, request)

    def _connect(self, base_url: str, key: str) -> MessagesApi:
        from ebbtide_worker.summarisers.messages_api import MessagesApi

        return MessagesApi(base_url=base_url, key=key, deadline=self._deadline)


def fingerprint(model: str) -> str:
    """Return the digest of all that decides what the summariser answers: model, prompts, schemas."""
    return digest(b"ebbtide/anthropic", _VERSION, model.encode(), *NOTES.definition, *JOINED.definition).hex()
