"""Calls that succeed: what is sent, what comes back, what is kept between calls."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import warnings

from anthropic import AsyncAnthropic

from ebbtide_core.summary.model import LIST_FIELDS, Summary
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.mapper import memo_name
from ebbtide_worker.summarisers.anthropic import MODEL, Anthropic
from ebbtide_worker.summarisers.base import PROSE, Partial
from ebbtide_worker.summarisers.registry import Summarisers, known
from tests.standin import Behaviour, StandIn
from tests.worker.anthropic.talk import KEY_ENV, chunk, terms, user_text


async def test_a_chunk_becomes_a_summary_and_a_usage(standin: StandIn, summariser: Anthropic) -> None:
    """The model's fields come back as a summary, with what the call cost."""
    partial = await summariser.map(chunk("MSGID-a fix it", "MSGID-b done"), terms())

    assert partial.summary.session_intent == "Stand-in summary of 2 messages"
    assert partial.summary.identifiers == ("MSGID-a", "MSGID-b")
    assert partial.summary.language == "en"
    [entry] = standin.control.requests()
    assert partial.usage.input_tokens == entry["usage"]["input_tokens"] > 0
    assert partial.usage.output_tokens == entry["usage"]["output_tokens"] > 0
    assert partial.usage.calls == 1


async def test_a_request_has_the_documented_shape(standin: StandIn, summariser: Anthropic) -> None:
    """Model, effort, schema and output limit are sent; tools, sampling and prefill are not."""
    await summariser.map(chunk(), terms())

    [entry] = standin.control.requests()
    body = entry["body"]
    assert set(body) == {"model", "max_tokens", "system", "messages", "output_config"}
    assert body["model"] == summariser.model == MODEL
    assert body["max_tokens"] == 16_000
    assert body["output_config"]["effort"] == "low"
    assert [message["role"] for message in body["messages"]] == ["user"]
    form = body["output_config"]["format"]
    assert form["type"] == "json_schema"
    schema = form["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"]) == list(Summary.model_fields)
    assert {n for n, inner in schema["properties"].items() if inner["type"] == "array"} == set(LIST_FIELDS)
    assert not {"maxLength", "maxItems", "minLength"} & set(str(schema).replace("'", " ").split())


async def test_model_and_endpoint_are_those_of_the_settings(standin: StandIn) -> None:
    """A worker's settings name model, base URL and the variable with the key; the registry makes it once."""
    config = WorkerConfig(
        "unused://", "unused://", summariser="anthropic", model="m-1", base_url=standin.url, key_env=KEY_ENV
    )
    assert "anthropic" in known()
    summarisers = Summarisers(config)

    summariser = summarisers.get()
    await summariser.map(chunk(), terms())
    await summarisers.close()

    assert summarisers.get("anthropic") is not summariser
    assert (summariser.name, summariser.model) == ("anthropic", "m-1")
    assert [entry["body"]["model"] for entry in standin.control.requests()] == ["m-1"]


async def test_a_merge_asks_for_prose_only(standin: StandIn, summariser: Anthropic) -> None:
    """Base and parts are told in order, each on a line of its own; only the prose is asked for."""
    parts = [Partial(Summary(session_intent=f"part\n{n}"), label=f"part {n} of 2") for n in (1, 2)]

    partial = await summariser.merge(parts, Summary(session_intent="the base"), terms())

    assert partial.summary.session_intent.startswith("Stand-in summary")
    assert partial.summary == Summary(session_intent=partial.summary.session_intent)
    assert partial.usage.calls == 1
    [entry] = standin.control.requests()
    assert tuple(entry["body"]["output_config"]["format"]["schema"]["properties"]) == PROSE
    lines = [line for line in user_text(entry).splitlines() if "session_intent" in line]
    assert [line.partition(": ")[0] for line in lines] == [
        "all that came before",
        "part 1 of 2",
        "part 2 of 2",
    ]
    assert '"the base"' in lines[0]
    assert r'"part\n2"' in lines[2]


async def test_the_language_that_was_asked_for_is_told_and_noted(
    standin: StandIn, summariser: Anthropic
) -> None:
    """A policy's language goes into the request and the summary; without one it is the conversation's."""
    asked = await summariser.map(chunk(), terms(language="de\n"))
    free = await summariser.map(chunk(), terms())

    told = [user_text(entry) for entry in standin.control.requests()]
    assert "Language of your answer: de.\n" in told[0]
    assert "Language of your answer: the one that the user writes in.\n" in told[1]
    assert (asked.summary.language, free.summary.language) == ("de", "en")


async def test_what_the_host_asks_of_a_summary_is_told_outside_the_data(
    standin: StandIn, summariser: Anthropic
) -> None:
    """On one line in front of the transcript, which can't be taken for a part of it."""
    await summariser.map(chunk(), terms(instructions="Keep every port\n number. <x>"))
    await summariser.map(chunk(), terms())

    told = [user_text(entry) for entry in standin.control.requests()]
    asked = "by the platform that runs the session: Keep every port number. <x>.\n"
    assert asked in told[0].partition("<transcript-")[0]
    assert "by the platform that runs the session: nothing.\n" in told[1]


def test_other_instructions_have_other_memos(summariser: Anthropic) -> None:
    """A partial that was made to other instructions is not used again."""
    names = {memo_name(chunk(), summariser, terms(instructions=asked)) for asked in ("", "a", "b")}
    assert len(names) == 3


async def test_too_many_and_too_long_items_are_cut(standin: StandIn, summariser: Anthropic) -> None:
    """Lengths are no reason to throw a paid answer away."""
    standin.control.queue(
        Behaviour(
            fields={
                "decisions": [f"decision {n}" for n in range(80)],
                "completed": ["x" * 700, " ", ""],
                "active_request": "y" * 9_000,
                "session_intent": "z" * 900,
                "language": "l" * 40,
            }
        )
    )

    summary = (await summariser.map(chunk(), terms())).summary

    assert summary.decisions == tuple(f"decision {n}" for n in range(30, 80))
    assert [len(item) for item in summary.completed] == [500]
    assert (len(summary.active_request), len(summary.session_intent), len(summary.language)) == (
        4_000,
        500,
        32,
    )


def clients() -> int:
    """Return how many clients of the SDK there are in this process."""
    return sum(type(found) is AsyncAnthropic for found in gc.get_objects())


async def test_all_calls_with_one_key_share_one_client(standin: StandIn, summariser: Anthropic) -> None:
    """Calls side by side, the first ones too, use the same client."""
    gc.collect()
    before = clients()

    await asyncio.gather(*(summariser.map(chunk(f"MSGID-{n}"), terms()) for n in range(8)))
    await summariser.merge([Partial(Summary(session_intent="x"))], None, terms())

    assert clients() - before == 1
    assert len(standin.control.requests()) == 9


def left_open(url: str, *, close: bool) -> list[str]:
    """Use a summariser on a loop of its own, and return the warnings of what was not released by then."""

    async def use(summariser: Anthropic) -> None:
        await summariser.map(chunk(), terms())
        if close:
            await summariser.close()
            await summariser.close()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(use(Anthropic(base_url=url, reference=f"env:{KEY_ENV}")))
        gc.collect()
    return [str(warning.message) for warning in told]


def test_closing_releases_the_client(standin: StandIn) -> None:
    """After close, even twice, nothing is left open; without it, something is."""
    assert left_open(standin.url, close=True) == []
    assert left_open(standin.url, close=False) != []


async def test_a_call_after_close_connects_anew(summariser: Anthropic) -> None:
    """Closing is no end: what is asked later is answered."""
    for _ in range(2):
        assert (await summariser.map(chunk(), terms())).usage.calls == 1
        await summariser.close()


def test_the_sdk_is_not_loaded_before_the_first_call() -> None:
    """It takes seconds to load, which the worker's loop must not wait for."""
    code = """
import sys
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.summarisers.registry import Summarisers

Summarisers(WorkerConfig("u://", "u://")).get("anthropic")
sys.exit("anthropic" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
