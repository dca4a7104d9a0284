"""What the providers reject, written down a second time so that the dialects' own checks can be wrong.

Nothing here, nor in `responses_rules` for OpenAI's second format, imports the rest of the project. Messages
are the provider's own JSON. Sources: the Messages API and Chat Completions references, and the errors that
both return for such requests.

Rules of both: `not_a_message`, `unknown_role`, `empty_content`, `result_without_call`, `call_without_result`,
`duplicate_call`, `duplicate_result`, `call_outside_assistant`.
Messages only: `first_role`, `system_placement`, `blank_text`, `result_outside_user`, `result_not_first`,
`thinking_outside_assistant`, `thinking_last`, `compaction_misplaced`, `compaction_repeated`,
`provider_result_alone`.
Chat only: `empty_assistant`, `empty_tool_calls`.
Of a sent view against the raw history only: `mark_sent`, `signed_block_changed`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ebbtide_cli.replay.responses_rules import MARK, broken_items, reasoning_dropped

Format = Literal["anthropic", "openai", "openai_responses"]
Broken = tuple[str, int]
"""A rule's name and the index of the message that breaks it."""

Json = dict[str, Any]
Numbered = Sequence[tuple[int, Json]]

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
SIGNED: Final = THINKING | {"compaction", "reasoning"}
_ROLES: Final = {
    "anthropic": frozenset({"user", "assistant", "system"}),
    "openai": frozenset({"system", "developer", "user", "assistant", "tool", "function"}),
}
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def broken_rules(fmt: Format, messages: Sequence[Any]) -> list[Broken]:
    """Return every provider rule that a request with these messages breaks, in the order of the messages.

    A rule that is broken twice is listed twice. Runs of one role are valid, and count as one turn. Calls that
    nothing follows yet are valid. Never raises, whatever the list holds.
    """
    if fmt == "openai_responses":
        return sorted(broken_items(messages), key=lambda broken: broken[1])
    known: list[tuple[int, Json]] = []
    found: list[Broken] = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            found.append(("not_a_message", index))
        elif message["role"] not in _ROLES[fmt]:
            found.append(("unknown_role", index))
        else:
            known.append((index, message))
    found.extend(_anthropic(known) if fmt == "anthropic" else _openai(known))
    return sorted(found, key=lambda broken: broken[1])


def new_violations(fmt: Format, raw: Sequence[Any], sent: Sequence[Any]) -> list[Broken]:
    """Return what is broken in the sent view and not by the raw history of the same turn.

    A rule counts when the view breaks it more often than the raw history does; then all its places in the
    view are listed. The view must also hold no mark of ours, each signed block (thinking, reasoning,
    compaction) of it must be one of the raw history, unchanged, and no item may have lost the reasoning of
    its answer.
    """
    before = Counter(rule for rule, _ in broken_rules(fmt, raw))
    broken = broken_rules(fmt, sent)
    after = Counter(rule for rule, _ in broken)
    found = [place for place in broken if after[place[0]] > before[place[0]]]
    found.extend(("mark_sent", i) for i, m in enumerate(sent) if isinstance(m, dict) and MARK in m)
    original = {text for _, text in _signed(raw)}
    found.extend(("signed_block_changed", i) for i, text in _signed(sent) if text not in original)
    if fmt == "openai_responses":
        found.extend(reasoning_dropped(raw, sent))
    return sorted(found, key=lambda place: place[1])


def _signed(messages: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield each signed block as text; lone surrogates are replaced in views, so they count as replaced."""
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        for block in ({k: v for k, v in message.items() if k != MARK}, *_blocks(message)):
            if _kind(block) in SIGNED:
                text = json.dumps(block, sort_keys=True, ensure_ascii=False, default=repr)
                yield index, _SURROGATES.sub("\ufffd", text)


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _kind(block: Json) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _ids(blocks: Iterable[tuple[int, Json]], key: str) -> list[tuple[int, str]]:
    """Return the ids of the blocks; what can't be an id is "", which answers and is answered by nothing."""
    ids = ((index, block.get(key)) for index, block in blocks)
    return [(index, name if isinstance(name, str) else "") for index, name in ids]


def _repeated(rule: str, ids: Iterable[tuple[int, str]]) -> Iterator[Broken]:
    seen = {""}
    for index, name in ids:
        if name and name in seen:
            yield rule, index
        seen.add(name)


@dataclass
class _Turn:
    """A run of messages of one role: their blocks, each with the index of its message."""

    role: str
    blocks: list[tuple[int, Json]] = field(default_factory=list)

    def of_type(self, *types: str) -> list[tuple[int, Json]]:
        return [(i, block) for i, block in self.blocks if _kind(block) in types]


def _turns(messages: Numbered) -> list[_Turn]:
    """Return the turns; a system message belongs to none and ends none."""
    turns: list[_Turn] = []
    for index, message in messages:
        if message["role"] == "system":
            continue
        if not turns or turns[-1].role != message["role"]:
            turns.append(_Turn(message["role"]))
        turns[-1].blocks.extend((index, block) for block in _blocks(message))
    return turns


def _anthropic(messages: Numbered) -> Iterator[Broken]:
    turns = _turns(messages)
    yield from _order(messages)
    yield from _contents(messages)
    yield from _outside(messages)
    yield from _compactions(messages)
    yield from _provider_results(messages)
    for turn in turns:
        if turn.role == "assistant":
            yield from _repeated("duplicate_call", _ids(turn.of_type("tool_use"), "id"))
            if turn.blocks and _kind(turn.blocks[-1][1]) in THINKING:
                yield "thinking_last", turn.blocks[-1][0]
    nothing = _Turn("assistant")
    for before, turn in zip([nothing, *turns], turns, strict=False):
        if turn.role == "user":
            yield from _answers(before, turn)


def _order(messages: Numbered) -> Iterator[Broken]:
    """A request begins with a user message, or with the compaction; a system message follows a user's."""
    if messages and messages[0][1]["role"] != "user":
        blocks = _blocks(messages[0][1])
        if not blocks or _kind(blocks[0]) != "compaction":
            yield "first_role", messages[0][0]
    before = ""
    for index, message in messages:
        if message["role"] != "system":
            before = message["role"]
        elif before == "assistant":
            yield "system_placement", index


def _contents(messages: Numbered) -> Iterator[Broken]:
    """Only the last message may be empty, if an assistant's; no text may be blank, in results neither."""
    for index, message in messages:
        blocks = _blocks(message)
        if not blocks and (index != messages[-1][0] or message["role"] != "assistant"):
            yield "empty_content", index
        nested = (inner for block in blocks if _kind(block) == "tool_result" for inner in _blocks(block))
        for block in (*blocks, *nested):
            text = block.get("text")
            if _kind(block) == "text" and not (isinstance(text, str) and text.strip()):
                yield "blank_text", index


_PLACES: Final = {
    **dict.fromkeys(THINKING, ("assistant", "thinking_outside_assistant")),
    "tool_use": ("assistant", "call_outside_assistant"),
    "server_tool_use": ("assistant", "call_outside_assistant"),
    "tool_result": ("user", "result_outside_user"),
}
"""The role that a block belongs to, and the rule broken when another has it."""


def _outside(messages: Numbered) -> Iterator[Broken]:
    for index, message in messages:
        for block in _blocks(message):
            role, rule = _PLACES.get(_kind(block), (message["role"], ""))
            if message["role"] != role:
                yield rule, index


def _compactions(messages: Numbered) -> Iterator[Broken]:
    """A compaction block is the very first block, of an assistant message, and there is one."""
    found = [
        (index, at == 0 and index == messages[0][0] and message["role"] == "assistant")
        for index, message in messages
        for at, block in enumerate(_blocks(message))
        if _kind(block) == "compaction"
    ]
    if found and not found[0][1]:
        yield "compaction_misplaced", found[0][0]
    yield from (("compaction_repeated", index) for index, _ in found[1:])


def _provider_results(messages: Numbered) -> Iterator[Broken]:
    """What a tool of the provider's gave stands behind its use, be it in an earlier message."""
    used: set[str] = set()
    for index, message in messages:
        for block in _blocks(message):
            if _kind(block) in ("server_tool_use", "mcp_tool_use"):
                used.update(name for _, name in _ids([(index, block)], "id"))
            elif _kind(block).endswith("_tool_result"):
                name = _ids([(index, block)], "tool_use_id")[0][1]
                if name and name not in used:
                    yield "provider_result_alone", index


def _answers(before: _Turn, turn: _Turn) -> Iterator[Broken]:
    """A user turn answers each call of the turn before it, once and ahead of all else, and no other call."""
    calls = _ids(before.of_type("tool_use"), "id") if before.role == "assistant" else []
    results = _ids(turn.of_type("tool_result"), "tool_use_id")
    called = {name for _, name in calls if name}
    answered = {name for _, name in results if name}
    yield from (("result_without_call", index) for index, name in results if name not in called)
    yield from (("call_without_result", index) for index, name in calls if name not in answered)
    yield from _repeated("duplicate_result", results)
    kinds = [_kind(block) == "tool_result" for _, block in turn.blocks]
    late = turn.blocks[kinds.index(False) :] if False in kinds else []
    yield from (("result_not_first", index) for index, name in _ids(late, "tool_use_id") if name in called)


def _openai(messages: Numbered) -> Iterator[Broken]:
    for index, message in messages:
        yield from _chat_content(index, message)
        if message["role"] != "assistant" and message.get("tool_calls"):
            yield "call_outside_assistant", index
        if message["role"] == "assistant":
            yield from _repeated("duplicate_call", _call_ids(index, message))
    yield from _chat_answers(messages)


def _call_ids(index: int, message: Json) -> list[tuple[int, str]]:
    calls = message.get("tool_calls")
    return _ids(((index, c) for c in calls if isinstance(c, dict)), "id") if isinstance(calls, list) else []


def _chat_content(index: int, message: Json) -> Iterator[Broken]:
    """An empty string is a content; null and an empty list stand beside calls only."""
    if message.get("tool_calls") == []:
        yield "empty_tool_calls", index
    content = message.get("content")
    if content is not None and content != []:
        return
    if message["role"] != "assistant":
        yield "empty_content", index
    elif not any(message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")):
        yield "empty_assistant", index


def _chat_answers(messages: Numbered) -> Iterator[Broken]:
    """Tool messages follow at once the assistant message with their calls, all before another role's."""
    caller = -1
    called: set[str] = set()
    waiting: set[str] = set()
    for index, message in messages:
        if message["role"] == "tool":
            name = _ids([(index, message)], "tool_call_id")[0][1]
            if name not in called or not name:
                yield "result_without_call", index
            elif name not in waiting:
                yield "duplicate_result", index
            waiting.discard(name)
            continue
        yield from (("call_without_result", caller) for _ in waiting)
        caller = index
        called = {name for _, name in _call_ids(index, message)} if message["role"] == "assistant" else set()
        waiting = set(called)
