"""Native compaction through the real SDK: what comes back, and every rule about it."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types.beta import BetaMessage
from anthropic.types.compaction_block_ambiguous_error import CompactionBlockAmbiguousError
from anthropic.types.compaction_block_misplaced_error import CompactionBlockMisplacedError
from anthropic.types.compaction_content_mismatch_error import CompactionContentMismatchError
from anthropic.types.compaction_incomplete_turn_error import CompactionIncompleteTurnError
from anthropic.types.compaction_nothing_to_summarize_error import CompactionNothingToSummarizeError
from anthropic.types.compaction_signature_invalid_error import CompactionSignatureInvalidError
from anthropic.types.compaction_unavailable_error import CompactionUnavailableError

from tests.standin import Behaviour, Kind, Settings, StandIn
from tests.standin.compaction import BETA, MAX_INSTRUCTIONS, Seal
from tests.standin.talk import client_of

HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "MSGID-a name the entities"},
    {"role": "assistant", "content": "MSGID-b Recipe and Step"},
]
NEXT = {"role": "user", "content": "MSGID-c go on"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}
COMPACT: dict[str, Any] = {"compaction": {"type": "summarize"}}


async def send(client: AsyncAnthropic, messages: list[Any], **more: Any) -> BetaMessage:
    """Send messages with the beta header, unless told otherwise."""
    request: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 4096, "betas": [BETA]}
    message: BetaMessage = await client.beta.messages.create(messages=messages, **(request | more))
    return message


async def error(client: AsyncAnthropic, messages: list[Any], **more: Any) -> anthropic.BadRequestError:
    """Return the error 400 that a request ends in."""
    with pytest.raises(anthropic.BadRequestError) as caught:
        await send(client, messages, **more)
    return caught.value


async def block_of(client: AsyncAnthropic) -> dict[str, Any]:
    """Return the block that stands for the history."""
    answer = await send(client, HISTORY, **COMPACT)
    content: Any = answer.to_dict()["content"]
    assert len(content) == 1
    found: dict[str, Any] = content[0]
    return found


def after(*blocks: dict[str, Any], role: str = "assistant") -> list[Any]:
    """Messages that begin with these blocks."""
    return [{"role": role, "content": list(blocks)}, NEXT]


async def test_a_compaction_returns_its_block_alone(standin: StandIn, client: AsyncAnthropic) -> None:
    """Signed, with everything that was shown, and paid for in the iterations only."""
    answer = await send(client, HISTORY, **COMPACT)
    [block] = answer.content
    assert block.type == "compaction"
    assert block.content == "Seen 2 messages. MSGID-a MSGID-b"
    assert block.signature
    assert answer.stop_reason == "compaction"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 0)
    assert answer.usage.iterations is not None
    [paid] = answer.usage.iterations
    assert paid.type == "compaction"
    assert min(paid.input_tokens, paid.output_tokens) > 0
    [entry] = standin.control.requests()
    assert (entry["betas"], entry["path"]) == ([BETA], "/v1/messages")


@pytest.mark.parametrize("role", ["assistant", "user"])
async def test_the_block_stands_for_what_it_summarises(client: AsyncAnthropic, role: str) -> None:
    """It comes first, with or without a cache mark, and a second compaction includes it."""
    block = await block_of(client)
    marked = {**block, "cache_control": {"type": "ephemeral"}}
    for found in (block, marked):
        answer = await send(client, after(found, role=role))
        assert answer.stop_reason == "end_turn"
        assert answer.usage.input_tokens > 0
    again = await send(client, after(block), **COMPACT)
    [second] = again.content
    assert second.type == "compaction"
    assert second.content == "Seen 3 messages. MSGID-a MSGID-b MSGID-c"


async def test_a_kept_turn_of_the_same_role_may_follow_the_block(client: AsyncAnthropic) -> None:
    """As with a compaction in the background, whose last summarised message was a user's."""
    block = await block_of(client)
    kept = {"role": "assistant", "content": "said meanwhile"}
    messages = [{"role": "assistant", "content": [block]}, kept, NEXT]
    assert (await send(client, messages)).stop_reason == "end_turn"


async def test_both_requests_need_the_beta_header(client: AsyncAnthropic) -> None:
    """The messages are those that the API's page tells of."""
    block = await block_of(client)
    asked = await error(client, HISTORY, betas=[], **COMPACT)
    sent = await error(client, after(block), betas=["context-1m-2025-08-07"])
    assert f"requires anthropic-beta: {BETA}" in asked.message
    assert "none of the expected content block types" in sent.message
    assert (asked.error_code, sent.error_code) == (None, None)


async def test_a_changed_block_is_refused(client: AsyncAnthropic) -> None:
    """Content, signature, another server's block, no signature: each has its code."""
    block = await block_of(client)
    flipped = ("A" if block["signature"][0] != "A" else "B") + block["signature"][1:]
    wrong: list[tuple[dict[str, Any], type[anthropic.BadRequestError]]] = [
        ({**block, "content": block["content"] + " "}, CompactionContentMismatchError),
        ({**block, "signature": flipped}, CompactionSignatureInvalidError),
        ({**block, "signature": "no base64!"}, CompactionSignatureInvalidError),
        ({"type": "compaction", "content": block["content"]}, CompactionSignatureInvalidError),
        (Seal().block(block["content"]), CompactionSignatureInvalidError),
    ]
    for changed, kind in wrong:
        assert type(await error(client, after(changed))) is kind


async def test_fields_that_were_not_returned_are_refused(client: AsyncAnthropic) -> None:
    """Such as the nulls of a plain `model_dump()`."""
    block = await block_of(client)
    caught = await error(client, after({**block, "citations": None}))
    assert "compaction.citations: Extra inputs are not permitted" in caught.message


async def test_the_block_comes_first_and_once(client: AsyncAnthropic) -> None:
    """Messages in front of it, or a second block, are refused."""
    block = await block_of(client)
    text = {"type": "text", "text": "before"}
    for messages in ([*HISTORY, *after(block)], after(text, block, role="user")):
        assert type(await error(client, messages)) is CompactionBlockMisplacedError
    assert type(await error(client, after(block, block))) is CompactionBlockAmbiguousError


@pytest.mark.parametrize(
    "more",
    [
        {"context_management": {"edits": []}},
        {"stop_sequences": ["x"]},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"output_config": {"task_budget": {"type": "tokens", "total": 9, "remaining": 1}}},
        {"tool_choice": {"type": "any"}},
        {"tool_choice": {"type": "tool", "name": "f"}},
        {"compaction": {"type": "sometimes"}},
        {"compaction": {"type": "summarize", "instructions": "x" * (MAX_INSTRUCTIONS + 1)}},
        {"model": "claude-haiku-4-5"},
    ],
)
async def test_what_can_not_be_combined_is_refused(client: AsyncAnthropic, more: dict[str, Any]) -> None:
    """By a message only, and nothing is paid."""
    caught = await error(client, HISTORY, **{**COMPACT, **more})
    assert (caught.type, caught.error_code) == ("invalid_request_error", None)


async def test_what_may_be_combined_passes(client: AsyncAnthropic) -> None:
    """System, tools, automatic tool choice, instructions, a budget without its rest."""
    more: dict[str, Any] = {
        "system": "Be brief",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "auto"},
        "compaction": {"type": "summarize", "instructions": "x" * MAX_INSTRUCTIONS},
        "output_config": {"effort": "low", "task_budget": {"type": "tokens", "total": 9}},
    }
    assert (await send(client, HISTORY, **more)).stop_reason == "compaction"


async def test_a_block_forbids_the_rest_of_a_budget(client: AsyncAnthropic) -> None:
    """On later requests too."""
    block = await block_of(client)
    config = {"task_budget": {"type": "tokens", "total": 9, "remaining": 1}}
    assert "remaining" in (await error(client, after(block), output_config=config)).message


async def test_there_must_be_something_whole_to_summarise(client: AsyncAnthropic) -> None:
    """An open call at the end, or no messages at all, are refused by their codes."""
    assert type(await error(client, [HISTORY[0], CALL], **COMPACT)) is CompactionIncompleteTurnError
    assert type(await error(client, [], **COMPACT)) is CompactionNothingToSummarizeError
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    messages = [HISTORY[0], CALL, {"role": "user", "content": [result]}]
    assert (await send(client, messages, **COMPACT)).stop_reason == "compaction"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour(kind=Kind.TRUNCATED), "max_tokens"),
        (Behaviour(kind=Kind.TOOL_CALL), "tool_use"),
        (Behaviour(kind=Kind.REFUSAL), "refusal"),
        (Behaviour(kind=Kind.EMPTY), "end_turn"),
        (
            Behaviour(kind=Kind.STOP, stop_reason="model_context_window_exceeded"),
            "model_context_window_exceeded",
        ),
    ],
)
async def test_without_a_summary_the_content_is_empty(
    standin: StandIn, client: AsyncAnthropic, behaviour: Behaviour, reason: str
) -> None:
    """A 200 all the same, with its stop reason, and paid."""
    standin.control.queue(behaviour)
    answer = await send(client, HISTORY, **COMPACT)
    assert (answer.stop_reason, answer.content) == (reason, [])
    assert answer.usage.iterations is not None
    assert answer.usage.iterations[0].input_tokens > 0


async def test_other_faults_meet_a_compaction_too(standin: StandIn, client: AsyncAnthropic) -> None:
    """A compaction that is unavailable for the moment, a window that does not hold the conversation."""
    standin.control.queue(Kind.COMPACTION_UNAVAILABLE)
    with pytest.raises(CompactionUnavailableError):
        await send(client, HISTORY, **COMPACT)
    standin.control.set(Settings(window=5))
    assert "prompt is too long" in (await error(client, HISTORY, **COMPACT)).message


async def test_counting_ignores_the_request_to_compact(client: AsyncAnthropic) -> None:
    """The count is that of the conversation."""
    plain: Any = {"model": "claude-opus-5-5", "betas": [BETA]}
    asked: list[dict[str, Any]] = [{}, {"extra_body": COMPACT}]
    messages: list[Any] = [HISTORY[0]]
    counts = [
        (await client.beta.messages.count_tokens(messages=messages, **plain, **more)).input_tokens
        for more in asked
    ]
    assert counts[0] == counts[1] > 0


async def test_a_block_is_of_one_server_only(client: AsyncAnthropic) -> None:
    """The secret is the process's own: a block does not survive it."""
    block = await block_of(client)
    with StandIn() as other:
        async with client_of(other.url) as asked:
            assert type(await error(asked, after(block))) is CompactionSignatureInvalidError
