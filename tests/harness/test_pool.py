"""The pool's compactor over a real server, with the smallest honest worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from typing import Any

import pytest
import pytest_asyncio

from ebbtide import Action, AsyncPool, InputError, mark
from ebbtide.harness import (
    CompactionError,
    ContextOverflowError,
    DefaultCompactor,
    DefaultCompactorConfig,
    PoolCompactor,
    is_summary_item,
    render_request_messages,
)
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.jsonio import compact
from ebbtide_core.store.client import SyncStore
from tests.harness.pooled import INSTRUCTIONS, WINDOW, PooledRun
from tests.harness.talk import ScriptedModel, request, user
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.store.clock import Database

SYSTEM = {"role": "system", "content": INSTRUCTIONS}


@pytest.fixture
def worker(server: EmbeddedServer, database: Database) -> Iterator[SyncStore]:
    """The store as a worker sees it, empty."""
    store = SyncStore(server.url, timeout=5.0)
    yield store
    store.close()


@pytest_asyncio.fixture
async def pool(server: EmbeddedServer, worker: SyncStore) -> AsyncIterator[AsyncPool]:
    """A host's pool."""
    async with AsyncPool(server.url, policy=SMALL) as pool:
        yield pool


@pytest.fixture
def run(pool: AsyncPool) -> PooledRun:
    """A run."""
    return PooledRun(pool)


async def swapped(run: PooledRun, worker: SyncStore) -> list[Any]:
    """Talk until a swap is done, and return the history before it."""
    while (await run.turn()).report.action is not Action.ENQUEUE:
        run.talk(1)
    assert work_once(worker) is not None
    before = list(run.history)
    assert (await run.turn()).report.action is Action.SWAP
    return before


def sizes(messages: list[Any]) -> int:
    """Tokens of messages."""
    return sum(tokenizer().count(compact(message)) for message in messages)


async def test_below_soft_the_history_stays(run: PooledRun) -> None:
    """The pool is asked each turn, and there is nothing to install."""
    run.talk(2)
    before = list(run.history)
    assert (await run.turn()).report.action is Action.KEEP
    assert run.history == before
    assert [(r.compacted, r.error) for r in run.reports] == [(False, None)]
    assert await run.request() == render_request_messages(INSTRUCTIONS, before)


async def test_the_swap_is_installed_with_the_host_s_own_items(run: PooledRun, worker: SyncStore) -> None:
    """One summary item, then the very objects of the tail; the report tells what it replaced."""
    before = await swapped(run, worker)
    summary, *tail = run.history
    assert is_summary_item(summary)
    assert tail
    assert all(kept is item for kept, item in zip(tail, before[-len(tail) :], strict=True))
    report = run.reports[-1]
    assert report.compacted
    assert report.dropped_items == tuple(before[: -len(tail)])
    assert report.summary_chars == len(summary["content"])
    assert report.estimated_tokens_after < report.signal.estimated_tokens
    assert await run.request() == [SYSTEM, *render_request_messages(None, run.history)]


async def test_a_second_compaction_goes_on_in_the_same_lineage(run: PooledRun, worker: SyncStore) -> None:
    """The returned history is known again: version 2 replaces version 1, and nothing was a fork."""
    await swapped(run, worker)
    first = run.history[0]
    run.at.run_state.history = deepcopy(run.history)
    before = await swapped(run, worker)
    turn = run.compactor.turn
    assert turn is not None
    assert turn.swap is not None
    assert (turn.swap.version, turn.swap.record.base_version, turn.swap.record.generation) == (2, 1, 0)
    assert turn.report.faults == ()
    assert [is_summary_item(item) for item in run.history] == [True] + [False] * (len(run.history) - 1)
    assert run.history[0] != first
    assert first in run.reports[-1].dropped_items
    assert run.history[1:] == before[-len(run.history) + 1 :]
    assert OpenAIChat().violations(await run.request()) == []


async def test_a_host_that_returns_to_its_whole_history_gets_the_swap_again(
    run: PooledRun, worker: SyncStore
) -> None:
    """An append-only host passes copies of the old items, and gets its own items back."""
    whole = await swapped(run, worker)
    short = run.history
    run.at.run_state.history = deepcopy(whole)
    run.talk(1)
    passed = list(run.history)
    assert (await run.turn()).swap is not None
    assert run.history == [*short, *passed[-3:]]
    assert all(any(item is own for own in passed) for item in run.history[1:])


async def test_ephemeral_items_outlive_a_swap_and_are_sent_without_marks(
    run: PooledRun, worker: SyncStore
) -> None:
    """They stand right after the summary, also those told by a framework's own test."""
    note = mark({"role": "user", "content": "the build runs on host 7"}, ephemeral=True)
    run.history.append(note)
    await swapped(run, worker)
    assert run.history[1] is note
    sent = await run.request()
    assert {"role": "user", "content": "the build runs on host 7"} in sent
    assert not any("ebbtide" in message for message in sent)


async def test_a_framework_s_own_test_of_ephemeral_items(pool: AsyncPool, worker: SyncStore) -> None:
    """The pool learns what the framework marked in its own way."""
    note = {"role": "user", "content": "the build runs on host 7", "scope": "run"}
    run = PooledRun(pool, is_ephemeral=lambda item: isinstance(item, dict) and item.get("scope") == "run")
    run.history.append(note)
    await swapped(run, worker)
    assert run.history[1] is note


async def test_a_degraded_turn_is_sent_and_not_installed(run: PooledRun, worker: SyncStore) -> None:
    """Without a record at hard the history stays whole, and this turn's request fits all the same."""
    run.talk(60)
    before = list(run.history)
    turn = await run.turn()
    assert turn.report.degraded
    assert run.history == before
    assert [(r.compacted, r.error) for r in run.reports] == [(False, None)]
    sent = await run.request()
    assert sent == [SYSTEM, *turn.messages]
    assert sizes(sent) < WINDOW < sizes(render_request_messages(INSTRUCTIONS, before))
    assert work_once(worker) is not None
    assert not (await run.turn()).report.degraded
    assert is_summary_item(run.history[0])


async def test_what_is_sent_otherwise_than_kept_is_a_view(run: PooledRun) -> None:
    """Also below soft: a provider refuses lone surrogates, and the history keeps what came."""
    run.history.append("half a pair: \ud800")
    assert not (await run.turn()).report.degraded
    assert run.history[-1] == "half a pair: \ud800"
    assert (await run.request())[-1] == {"role": "user", "content": "half a pair: \ufffd"}


async def test_what_fits_in_no_way_is_an_overflow(run: PooledRun) -> None:
    """A user's text is never clipped; the history stays."""
    run.history.append("word " * 2 * WINDOW)
    before = list(run.history)
    with pytest.raises(ContextOverflowError, match="Shorten"):
        await run.compactor.compact(request(before))
    await run.turn()
    assert run.history == before
    assert "Shorten" in (run.reports[-1].error or "")


async def test_a_history_that_is_no_conversation_is_a_failure(run: PooledRun) -> None:
    """The error names the message."""
    with pytest.raises(CompactionError, match="message 1"):
        await run.compactor.compact(request([user(), {"role": "user", "content": [float("nan")]}]))


async def test_a_session_of_another_dialect_is_refused(pool: AsyncPool) -> None:
    """Chat messages read as another API's would be summarised wrongly."""
    session = pool.session(tenant="acme", session_id="run", model="claude-test", context_window=WINDOW)
    with pytest.raises(InputError, match="dialect"):
        PoolCompactor(session)


async def test_the_default_compactor_replaces_a_pool_s_summary(run: PooledRun, worker: SyncStore) -> None:
    """A run may go over from one to the other; summaries never stack."""
    await swapped(run, worker)
    config = DefaultCompactorConfig(keep_recent_tokens=1, keep_recent_messages=1)
    model = ScriptedModel("notes")
    done = await DefaultCompactor(config).compact(request(run.history, model))
    assert [is_summary_item(item) for item in done.history].count(True) == 1
    assert done.dropped_items[0] == run.history[0]
    assert run.history[0] in model.asked[0]
