"""The stand-in for its own tests, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from anthropic import AsyncAnthropic

from tests.standin import StandIn
from tests.standin.fixture import standin
from tests.standin.talk import client_of

__all__ = ["standin"]


@pytest_asyncio.fixture
async def client(standin: StandIn) -> AsyncIterator[AsyncAnthropic]:
    """The real client, without retries."""
    async with client_of(standin.url) as found:
        yield found
