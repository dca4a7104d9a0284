"""The stand-in, asked by the real SDK."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import anthropic
import psutil
import pytest
from anthropic import AsyncAnthropic

from ebbtide_core.summary.model import Summary
from tests.standin import Behaviour, Control, Kind, Process, Rate, Settings, StandIn
from tests.standin.prompt import MESSAGE_ID
from tests.standin.talk import MODEL, ask, client_of, failure, text_of


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    """A stand-in in its own process, for all tests of this file."""
    with Process() as found:
        yield found


async def test_a_good_summary_fits_our_structure_and_names_what_it_was_shown(client: AsyncAnthropic) -> None:
    """The ids of all messages are in it, so coverage can be proved from a summary."""
    answer = await ask(client, 'MSGID-a1 fixed it\nMSGID-b_2: "and MSGID-a1 again" MSGID-c\u6771')
    summary = Summary.model_validate_json(text_of(answer))
    assert summary.identifiers == ("MSGID-a1", "MSGID-b_2", "MSGID-c\u6771")
    assert set(MESSAGE_ID.findall(" ".join(summary.completed))) == set(summary.identifiers)
    assert answer.stop_reason == "end_turn"
    assert answer.model == MODEL


async def test_thousands_of_ids_fit_one_summary(client: AsyncAnthropic) -> None:
    """Lists and items are capped, coverage is not."""
    names = {f"MSGID-{n:04d}" for n in range(1500)}
    summary = Summary.model_validate_json(
        text_of(await ask(client, " ".join(sorted(names)), max_tokens=20_000))
    )
    assert set(MESSAGE_ID.findall(" ".join(summary.completed))) == names


async def test_ids_travel_through_results_calls_and_system(client: AsyncAnthropic) -> None:
    """Whatever part of the prompt holds an id, the answer names it."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "MSGID-in"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "MSGID-out"}]},
    ]
    answer = text_of(await ask(client, messages=messages, system="MSGID-sys", tools=[]))
    assert Summary.model_validate_json(answer).identifiers == ("MSGID-sys", "MSGID-in", "MSGID-out")


async def test_without_a_schema_the_answer_is_a_sentence(client: AsyncAnthropic) -> None:
    """Plain requests get plain text, with the ids."""
    assert text_of(await ask(client, "MSGID-a", output_config={})) == "Seen 1 messages. MSGID-a"


async def test_any_schema_is_answered_with_its_own_fields(client: AsyncAnthropic) -> None:
    """Only the fields that were asked for come back, each of its type."""
    schema = {
        "type": "object",
        "$defs": {"Deep": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "properties": {
            "completed": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["none", "open"]},
            "deep": {"$ref": "#/$defs/Deep"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    answer = await ask(client, output_config={"format": {"type": "json_schema", "schema": schema}})
    found = json.loads(text_of(answer))
    assert found == {"completed": ["Read MSGID-a"], "state": "none", "deep": {"n": 0}, "maybe": ""}


async def test_fields_of_a_good_summary_can_be_replaced(standin: StandIn, client: AsyncAnthropic) -> None:
    """A test may let the model claim something."""
    standin.control.queue(Behaviour(fields={"files_touched": ["no/such/file.py"]}))
    summary = Summary.model_validate_json(text_of(await ask(client)))
    assert summary.files_touched == ("no/such/file.py",)
    assert summary.identifiers == ("MSGID-a",)


async def test_usage_tells_cache_writes_from_reads(client: AsyncAnthropic) -> None:
    """A marked prefix is written once and read from then on; without a mark there is neither."""
    system = [{"type": "text", "text": "rules " * 400, "cache_control": {"type": "ephemeral"}}]
    first, second = (
        (await ask(client, system=system)).usage,
        (await ask(client, "again", system=system)).usage,
    )
    plain = (await ask(client)).usage
    assert (first.cache_read_input_tokens, second.cache_creation_input_tokens) == (0, 0)
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens
    assert (second.cache_read_input_tokens or 0) > 400
    assert (plain.cache_read_input_tokens, plain.cache_creation_input_tokens) == (0, 0)
    assert min(first.input_tokens, first.output_tokens, plain.input_tokens) > 0


async def test_tokens_are_counted(client: AsyncAnthropic) -> None:
    """The counting endpoint grows with the prompt."""
    few, many = [
        (
            await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": words}])
        ).input_tokens
        for words in ("go", "go " * 1000)
    ]
    assert 0 < few < many


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
async def test_a_status_comes_back_as_the_sdks_error(
    standin: StandIn, client: AsyncAnthropic, status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    """Errors have Anthropic's shape, with a request id in header and log."""
    standin.control.queue(Behaviour(kind=Kind.STATUS, status=status, retry_after=1.5, error_code="some_code"))
    caught = await failure(client)
    assert isinstance(caught, error)
    assert (caught.status_code, caught.type, caught.error_code) == (status, kind, "some_code")
    assert caught.response.headers["retry-after"] == "1.5"
    assert caught.request_id == "req_standin_1"
    [entry] = standin.control.requests()
    assert (entry["outcome"], entry["status"]) == ("status", status)


async def test_a_spend_limit_is_its_own_error(standin: StandIn, client: AsyncAnthropic) -> None:
    """The SDK picks the class by status and error code."""
    standin.control.queue(Behaviour(kind=Kind.STATUS, status=429, error_code="enforced_spend_limit_reached"))
    assert type(await failure(client)) is not anthropic.RateLimitError


@pytest.mark.parametrize("kind", [Kind.DROP, Kind.CUT])
async def test_a_broken_connection_is_a_connection_error(
    standin: StandIn, client: AsyncAnthropic, kind: Kind
) -> None:
    """Closed without a response, or in the middle of one; the next request works again."""
    standin.control.queue(kind)
    with pytest.raises((anthropic.APIConnectionError, anthropic.APIError)) as caught:
        await ask(client)
    assert not isinstance(caught.value, anthropic.APIStatusError)
    assert (await ask(client)).stop_reason == "end_turn"


async def test_a_hang_ends_with_the_clients_own_timeout(standin: StandIn, client: AsyncAnthropic) -> None:
    """The client gives up, and the log says so."""
    standin.control.queue(Kind.HANG)
    with pytest.raises(anthropic.APITimeoutError):
        await ask(client.with_options(timeout=0.3))
    [entry] = standin.control.requests(count=1, settled=True)
    assert (entry["outcome"], entry["status"]) == ("client_gone", 0)


def test_a_client_that_resets_its_connection_is_gone(standin: StandIn) -> None:
    """Not only one that closes it; the request is no longer in flight then."""
    standin.control.queue(Kind.HANG)
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]})
    head = f"x-api-key: k\r\nanthropic-version: v\r\ncontent-length: {len(body)}\r\n"
    with socket.create_connection(standin.server_address) as client:  # type: ignore[arg-type]
        client.sendall(f"POST /v1/messages HTTP/1.1\r\n{head}\r\n{body}".encode())
        standin.control.requests(count=1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    [entry] = standin.control.requests(count=1, settled=True)
    assert entry["outcome"] == "client_gone"


async def test_bodies_need_not_be_kept(standin: StandIn, client: AsyncAnthropic) -> None:
    """A long run asks for much; ids, usage and outcome stay."""
    standin.control.set(Settings(bodies=False))
    await ask(client)
    [entry] = standin.control.requests()
    assert (entry["body"], entry["ids"], entry["outcome"]) == ("", ["MSGID-a"], "good")
    standin.control.reset()
    await ask(client)
    assert standin.control.requests()[0]["body"]["model"] == MODEL


async def test_a_stand_in_stops_while_requests_hang(standin: StandIn, client: AsyncAnthropic) -> None:
    """Nothing waits for an answer that never comes."""
    standin.control.queue(Kind.HANG)
    hanging = asyncio.create_task(ask(client))
    await asyncio.to_thread(standin.control.requests, count=1)
    await asyncio.to_thread(standin.stop)
    with pytest.raises(anthropic.APIConnectionError):
        await hanging


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal", "tool_use"])
async def test_a_stop_reason_comes_with_usage_and_no_whole_summary(
    standin: StandIn, client: AsyncAnthropic, reason: str
) -> None:
    """A cut, refused or digressing answer is paid for and can't be parsed."""
    standin.control.queue(Behaviour(kind=Kind.STOP, stop_reason=reason))
    answer = await ask(client)
    assert answer.stop_reason == reason
    assert answer.usage.input_tokens > 0
    texts = [block.text for block in answer.content if block.type == "text"]
    with pytest.raises(ValueError, match="JSON"):
        Summary.model_validate_json("".join(texts))


async def test_an_answer_longer_than_max_tokens_is_cut(client: AsyncAnthropic) -> None:
    """As with the real API, nobody has to ask for that."""
    answer = await ask(client, max_tokens=10)
    assert answer.stop_reason == "max_tokens"
    assert len(text_of(answer)) == 40


async def test_odd_bodies_come_back_as_the_sdk_leaves_them(standin: StandIn, client: AsyncAnthropic) -> None:
    """A 200 need not be a message: prose, empty fields, null content, a web page, any text."""
    texts = Behaviour(kind=Kind.TEXT, text='{"half')
    standin.control.queue(Kind.PROSE, Kind.EMPTY, Kind.NULL, Kind.HTML, texts)
    prose, empty, null, page, given = [await ask(client) for _ in range(5)]
    with pytest.raises(ValueError, match="JSON"):
        Summary.model_validate_json(text_of(prose))
    assert Summary.model_validate_json(text_of(empty)) == Summary()
    assert null.to_dict()["content"] is None
    assert getattr(null, "usage", None) is None
    assert isinstance(page, str)
    assert text_of(given) == '{"half'


BAD_REQUESTS: dict[str, dict[str, Any]] = {
    "a rule broken": {"messages": [{"role": "user", "content": ""}]},
    "a mark of ours": {"messages": [{"role": "user", "content": "x", "ebbtide": {}}]},
    "prefill": {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]},
    "no output": {"max_tokens": 0},
    "temperature": {"extra_body": {"temperature": 0}},
    "no messages": {"messages": []},
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
async def test_a_request_that_the_api_rejects_is_rejected(
    standin: StandIn, client: AsyncAnthropic, name: str
) -> None:
    """A client's own faults are found here, and take nothing from the queue."""
    standin.control.queue(Kind.PROSE)
    caught = await failure(client, **BAD_REQUESTS[name])
    assert (caught.status_code, caught.type) == (400, "invalid_request_error")
    assert standin.control.requests()[0]["outcome"] == "rejected"
    assert "went well" in text_of(await ask(client))


async def test_unknown_paths_and_missing_keys_are_refused(standin: StandIn, client: AsyncAnthropic) -> None:
    """Nothing but what is stood in for, and not without a key."""
    with pytest.raises(anthropic.NotFoundError):
        await client.models.list()
    with pytest.raises(HTTPError, match="401") as caught:
        standin.control.call("/v1/messages", b"{}")
    caught.value.close()


async def test_a_behaviour_can_wait_for_its_request(standin: StandIn, client: AsyncAnthropic) -> None:
    """With `when`, only the prompt that contains it takes it from the queue."""
    standin.control.queue(Behaviour(kind=Kind.STATUS, when="MSGID-poison"))
    assert (await ask(client)).stop_reason == "end_turn"
    assert (await failure(client, "MSGID-poison")).status_code == 500
    assert (await ask(client, "MSGID-poison")).stop_reason == "end_turn"


async def outcomes(client: AsyncAnthropic, control: Control, seed: int, number: int) -> list[str]:
    rate = Rate(share=0.3, behaviour=Behaviour(kind=Kind.STATUS, status=529))
    control.set(Settings(reset=True, seed=seed, rates=(rate,)))
    for _ in range(number):
        try:
            await ask(client, output_config={})
        except anthropic.InternalServerError:
            continue
    return [entry["outcome"] for entry in control.requests(count=number, settled=True)]


async def test_rates_are_random_and_the_same_for_a_seed(standin: StandIn, client: AsyncAnthropic) -> None:
    """About the asked share fails, in an order that the seed decides."""
    first = await outcomes(client, standin.control, seed=7, number=40)
    assert 4 <= Counter(first)["status"] <= 24
    assert await outcomes(client, standin.control, seed=7, number=40) == first
    assert await outcomes(client, standin.control, seed=8, number=40) != first


async def test_a_rate_of_one_holds_for_every_request_that_fits(
    standin: StandIn, client: AsyncAnthropic
) -> None:
    """So one poisoned chunk fails for ever and the others never."""
    poison = Behaviour(kind=Kind.STATUS, status=400, when="MSGID-poison")
    standin.control.set(Settings(rates=(Rate(share=1, behaviour=poison),)))
    assert [(await failure(client, "MSGID-poison")).status_code for _ in range(3)] == [400] * 3
    assert (await ask(client)).stop_reason == "end_turn"


async def test_the_log_tells_body_times_and_outcome(standin: StandIn, client: AsyncAnthropic) -> None:
    """Each request is there in order, with what it cost and a digest of who asked."""
    standin.control.set(Settings(latency=0.05, jitter=0.01))
    answers = [await ask(client, f"MSGID-{n}") for n in range(2)]
    log = standin.control.requests(count=2, settled=True)
    assert [entry["ids"] for entry in log] == [["MSGID-0"], ["MSGID-1"]]
    assert [entry["usage"]["output_tokens"] for entry in log] == [a.usage.output_tokens for a in answers]
    assert [(entry["outcome"], entry["status"], entry["path"]) for entry in log] == [
        ("good", 200, "/v1/messages")
    ] * 2
    assert log[0]["body"]["model"] == MODEL
    assert all(entry["ended"] - entry["at"] >= 0.05 for entry in log)
    assert "k-test" not in json.dumps(log)
    standin.control.reset()
    assert standin.control.requests() == []


def test_nonsense_settings_are_refused(standin: StandIn) -> None:
    """A misspelt behaviour is no silent default."""
    with pytest.raises(HTTPError, match="400") as caught:
        standin.control.call("/control", b'{"queue": [{"kind": "explode"}]}')
    caught.value.close()
    with pytest.raises(TimeoutError, match="0 of 1 requests"):
        standin.control.requests(count=1, wait=0)


@pytest.mark.processes
async def test_it_runs_as_a_process_and_is_steered_from_another(process: Process) -> None:
    """Queue, failure and log work across processes."""
    process.control.set(Settings(reset=True, queue=(Behaviour(kind=Kind.STATUS, status=529),)))
    async with client_of(process.url) as client:
        assert (await failure(client)).status_code == 529
        assert (await ask(client)).stop_reason == "end_turn"
    log = process.control.requests(count=2, settled=True)
    assert [entry["outcome"] for entry in log] == ["status", "good"]
    assert psutil.pid_exists(process.pid)
