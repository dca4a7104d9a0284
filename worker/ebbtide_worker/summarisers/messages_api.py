"""The Messages API through the official SDK: one client, one request a call, no retries."""

from __future__ import annotations

import logging
from asyncio import timeout
from typing import Final

from anthropic import AsyncAnthropic, Timeout

from ebbtide_worker.summarisers.answer import partial_of
from ebbtide_worker.summarisers.base import Partial
from ebbtide_worker.summarisers.draft import schema
from ebbtide_worker.summarisers.faults import fault_of
from ebbtide_worker.summarisers.forms import Request

MAX_OUTPUT: Final = 16_000
"""Tokens of one answer, thinking included: below what the SDK demands streaming for."""

EFFORT: Final = "low"

_CONNECT_SECONDS: Final = 10.0
_TALKATIVE: Final = ("anthropic", "httpx2", "httpcore2")
"""Loggers of the SDK's stack. At DEBUG they write whole requests, at INFO URLs, which may hold a password."""


class MessagesApi:
    """The client of one endpoint and key. Belongs to the event loop of its first call; holds the key and
    shows it to nobody.
    """

    def __init__(self, *, base_url: str, key: str, deadline: float) -> None:
        for name in _TALKATIVE:
            logger = logging.getLogger(name)
            logger.setLevel(max(logger.level, logging.WARNING))
        self._deadline = deadline
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=base_url or None,
            max_retries=0,
            timeout=Timeout(deadline, connect=min(deadline, _CONNECT_SECONDS)),
        )

    async def ask(self, model: str, request: Request) -> Partial:
        """Return the summary with which a model answers a request. Raises SummariserFault.

        The deadline is that of the whole call: the SDK's own time-outs start anew with each piece that
        arrives.
        """
        try:
            async with timeout(self._deadline):
                answer: object = await self._client.messages.create(
                    model=model,
                    max_tokens=MAX_OUTPUT,
                    system=request.system,
                    messages=[{"role": "user", "content": request.user}],
                    output_config={
                        "format": {"type": "json_schema", "schema": schema(request.fields)},
                        "effort": EFFORT,
                    },
                )
        except Exception as error:  # noqa: BLE001  whatever it is, none of its text may be told
            fault = fault_of(error)
        else:
            return partial_of(answer, request.fields)
        raise fault

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
