"""A summariser that asks the stand-in, and what it is given to summarise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from ebbtide_worker.summarisers.anthropic import Anthropic
from tests.standin import StandIn
from tests.standin.fixture import standin
from tests.worker.anthropic.talk import KEY, KEY_ENV

__all__ = ["standin"]

Make = Callable[..., Anthropic]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The key, in the environment."""
    monkeypatch.setenv(KEY_ENV, KEY)
    return KEY


@pytest_asyncio.fixture
async def make(standin: StandIn) -> AsyncIterator[Make]:
    """Makes summarisers that ask the stand-in, and closes them."""
    made: list[Anthropic] = []

    def new(**given: object) -> Anthropic:
        made.append(Anthropic(**{"base_url": standin.url, "reference": f"env:{KEY_ENV}", **given}))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for summariser in made:
        await summariser.close()


@pytest.fixture
def summariser(make: Make) -> Anthropic:
    """One with default settings."""
    return make()
