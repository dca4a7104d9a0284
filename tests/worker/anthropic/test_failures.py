"""Calls that fail: each way has its kind, its usage, and gives nothing away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import traceback

import pytest

from ebbtide_core.summary.model import Summary
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.ending import described
from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import PROVIDER_DOWN, FaultKind, Partial, SummariserFault
from ebbtide_worker.summarisers.registry import Summarisers
from tests.standin import Behaviour, Kind, Settings, StandIn
from tests.worker.anthropic.conftest import Make
from tests.worker.anthropic.talk import KEY, KEY_ENV, chunk, fault, terms

SECRET_WORDS = "MSGID-private my cat is called Schroedinger"

FAILED: dict[str, tuple[Behaviour, FaultKind]] = {
    "rate limit": (Behaviour(kind=Kind.STATUS, status=429, retry_after=30), FaultKind.RATE_LIMITED),
    "spend limit": (
        Behaviour(kind=Kind.STATUS, status=429, error_code="enforced_spend_limit_reached"),
        FaultKind.SPEND_LIMIT,
    ),
    "server error": (Behaviour(kind=Kind.STATUS, status=500), FaultKind.UNAVAILABLE),
    "overloaded": (Behaviour(kind=Kind.STATUS, status=529), FaultKind.OVERLOADED),
    "gateway page": (Behaviour(kind=Kind.HTML, status=502), FaultKind.UNAVAILABLE),
    "dropped": (Behaviour(kind=Kind.DROP), FaultKind.CONNECTION),
    "cut connection": (Behaviour(kind=Kind.CUT), FaultKind.CONNECTION),
    "gateway timeout": (Behaviour(kind=Kind.STATUS, status=504), FaultKind.TIMEOUT),
    "unauthorised": (Behaviour(kind=Kind.STATUS, status=401), FaultKind.AUTH),
    "forbidden": (Behaviour(kind=Kind.STATUS, status=403), FaultKind.FORBIDDEN),
    "bad request": (Behaviour(kind=Kind.STATUS, status=400), FaultKind.BAD_REQUEST),
    "no such model": (Behaviour(kind=Kind.STATUS, status=404), FaultKind.NOT_FOUND),
    "too large": (Behaviour(kind=Kind.STATUS, status=413), FaultKind.TOO_LARGE),
    "page": (Behaviour(kind=Kind.HTML), FaultKind.UNREADABLE),
    "null": (Behaviour(kind=Kind.NULL), FaultKind.UNREADABLE),
}
"""Without usage."""

PAID: dict[str, tuple[Behaviour, FaultKind]] = {
    "cut": (Behaviour(kind=Kind.STOP, stop_reason="max_tokens"), FaultKind.TRUNCATED),
    "window": (Behaviour(kind=Kind.STOP, stop_reason="model_context_window_exceeded"), FaultKind.TOO_LONG),
    "refusal": (Behaviour(kind=Kind.STOP, stop_reason="refusal"), FaultKind.REFUSED),
    "tool call": (Behaviour(kind=Kind.STOP, stop_reason="tool_use"), FaultKind.TOOL_CALL),
    "stop sequence": (Behaviour(kind=Kind.STOP, stop_reason="stop_sequence"), FaultKind.TRUNCATED),
    "pause": (Behaviour(kind=Kind.STOP, stop_reason="pause_turn"), FaultKind.UNEXPECTED),
    "new reason": (Behaviour(kind=Kind.STOP, stop_reason="compaction"), FaultKind.UNEXPECTED),
    "prose": (Behaviour(kind=Kind.PROSE), FaultKind.NOT_JSON),
    "half": (Behaviour(kind=Kind.TEXT, text='{"session_intent": "migrate the da'), FaultKind.NOT_JSON),
    "blank": (Behaviour(kind=Kind.TEXT, text=" \n"), FaultKind.EMPTY),
    "empty fields": (Behaviour(kind=Kind.EMPTY), FaultKind.EMPTY),
    "wrong types": (Behaviour(fields={"decisions": "one"}), FaultKind.SCHEMA),
}


@pytest.mark.parametrize("name", FAILED)
async def test_an_error_has_its_kind_and_counts_as_one_call(
    standin: StandIn, summariser: Anthropic, name: str
) -> None:
    """The summariser itself retries nothing, and the next call works."""
    behaviour, kind = FAILED[name]
    standin.control.queue(behaviour)

    found = await fault(summariser)

    assert found.kind is kind
    assert (found.usage.calls, found.usage.input_tokens) == (1, 0)
    assert len(standin.control.requests()) == 1
    assert (await summariser.map(chunk(), terms())).summary.session_intent


@pytest.mark.parametrize("name", PAID)
async def test_an_unusable_answer_has_its_kind_and_its_price(
    standin: StandIn, summariser: Anthropic, name: str
) -> None:
    """What was paid for nothing is still told."""
    behaviour, kind = PAID[name]
    standin.control.queue(behaviour)

    found = await fault(summariser)

    assert found.kind is kind
    [entry] = standin.control.requests()
    paid = (found.usage.input_tokens, found.usage.output_tokens)
    assert paid == (entry["usage"]["input_tokens"], entry["usage"]["output_tokens"])
    assert min(paid) > 0
    assert found.usage.calls == 1


async def test_a_prompt_beyond_the_window_is_too_long(standin: StandIn, summariser: Anthropic) -> None:
    """The API's own words for it are recognised."""
    standin.control.set(Settings(window=1_500))
    assert (await fault(summariser, "word " * 2_000)).kind is FaultKind.TOO_LONG


async def test_a_merge_fails_in_the_same_ways(standin: StandIn, summariser: Anthropic) -> None:
    """One path serves both calls."""
    standin.control.queue(Kind.EMPTY)
    with pytest.raises(SummariserFault) as caught:
        await summariser.merge([Partial(Summary(session_intent="x"))], None, terms())
    assert (caught.value.kind, caught.value.usage.calls) == (FaultKind.EMPTY, 1)
    assert caught.value.usage.input_tokens > 0


async def test_a_hanging_call_ends_at_the_deadline(standin: StandIn, make: Make) -> None:
    """The provider is given up, the connection closed, and the fault is neutral."""
    standin.control.queue(Kind.HANG)

    found = await fault(make(deadline=1.0))

    assert found.kind is FaultKind.TIMEOUT
    assert found.kind in PROVIDER_DOWN
    assert found.uncertain
    [entry] = standin.control.requests(count=1, settled=True)
    assert entry["outcome"] == "client_gone"


async def test_the_deadline_is_that_of_the_whole_call(make: Make) -> None:
    """A server that sends a byte now and then keeps nobody waiting longer, and is hung up on."""
    begun, left = asyncio.Event(), asyncio.Event()

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
        begun.set()
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(trickle, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        found = await fault(make(base_url=f"http://127.0.0.1:{port}", deadline=1.0))
        await asyncio.wait_for(left.wait(), 20)

    assert begun.is_set()
    assert found.kind is FaultKind.TIMEOUT


async def test_an_endpoint_that_is_not_there_was_certainly_not_paid(make: Make) -> None:
    """Nobody listens: neutral, told as what it is, and no request was sent."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = await fault(make(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert (found.kind, found.detail, found.uncertain) == (FaultKind.CONNECTION, "ConnectError", False)


@pytest.mark.parametrize("value", [None, "", "  ", "sk-ant-first\nsecond", "sk-ant-schlüssel", "sk-ant two"])
async def test_without_a_usable_key_no_call_is_made(
    standin: StandIn, summariser: Anthropic, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """The fault names the variable, not what is in it; other credentials of the environment are not used."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of somebody else")
    if value is None:
        monkeypatch.delenv(KEY_ENV)
    else:
        monkeypatch.setenv(KEY_ENV, value)

    found = await fault(summariser)

    assert (found.kind, found.usage.calls) == (FaultKind.AUTH, 0)
    assert KEY_ENV in found.detail
    assert "ant" not in found.detail
    assert standin.control.requests() == []


async def test_the_key_is_found_once_it_is_set(
    summariser: Anthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key with white space around it, as files leave it, serves; a failed start is not remembered."""
    monkeypatch.delenv(KEY_ENV)
    assert (await fault(summariser)).kind is FaultKind.AUTH
    monkeypatch.setenv(KEY_ENV, f" {KEY}\n")
    assert (await summariser.map(chunk(), terms())).usage.calls == 1


@pytest.mark.parametrize("name", [*FAILED, *PAID, "hang", "good"])
async def test_key_and_content_show_up_nowhere(
    standin: StandIn, make: Make, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Not in logs at any level, not in faults and what is printed of them, not in reprs."""
    cases = {**FAILED, **PAID, "hang": (Behaviour(kind=Kind.HANG), None), "good": (Behaviour(), None)}
    standin.control.queue(cases[name][0])
    summariser = make(deadline=1.0 if name == "hang" else 20.0)

    with caplog.at_level(logging.DEBUG):
        [found] = await asyncio.gather(summariser.map(chunk(SECRET_WORDS), terms()), return_exceptions=True)

    told = [repr(summariser)]
    if isinstance(found, SummariserFault):
        assert (found.__context__, found.__cause__) == (None, None)
        told += [repr(found), str(found), described(found), *traceback.format_exception(found)]
    else:
        assert isinstance(found, Partial)
        assert name == "good"
    told += [f"{record.name} {record.getMessage()} {record.exc_text}" for record in caplog.records]
    for text in told:
        assert KEY not in text
        assert "Schroedinger" not in text
        assert standin.url not in text


async def test_settings_do_not_hold_the_key(standin: StandIn) -> None:
    """What a worker is told names the variable only."""
    config = WorkerConfig("u://", "u://", base_url=standin.url, key_env=KEY_ENV)
    summariser = Summarisers(config).get("anthropic")
    assert KEY not in repr(config) + repr(vars(summariser))
