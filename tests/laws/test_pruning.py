"""Leaving superseded results out: pairs stay whole, the newest stays, nothing else changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import broken_rules
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, read
from ebbtide_core.views.identity import Identity
from ebbtide_core.views.prune import Superseded, replaced, superseded
from tests.laws.checks import calls_of, caught, is_ephemeral, is_system, pairs, results_of, said
from tests.laws.depth import law
from tests.laws.lives import MARK, UID, histories
from tests.strategies.messages import Format, formats

Json = dict[str, Any]
Find = Callable[[Buffer, Identity], tuple[Superseded, ...]]
Put = Callable[[Buffer, Sequence[Superseded]], dict[int, Any]]

LOOSE: Final = Identity.of({"bash": (), "read_file": (), "search": (), "shell": ()})
"""Every call of a tool asks the same, so that random histories hold much that is superseded."""

BLANK: Final = "?"

conversations = formats.flatmap(lambda fmt: st.tuples(st.just(fmt), histories(fmt)))


def blanked(fmt: Format, message: Json, ids: frozenset[str]) -> Json:
    """Return the message with the contents of some results made alike."""
    if fmt == "openai_responses":
        return {**message, "output": BLANK}
    if fmt == "openai":
        return {**message, "content": BLANK}
    content = [
        {**b, "content": BLANK}
        if isinstance(b, dict) and b.get("type") == "tool_result" and b["tool_use_id"] in ids
        else b
        for b in message["content"]
    ]
    return {**message, "content": content}


def tools_of(fmt: Format, message: Json) -> dict[str, str]:
    """Return the tool of each call of a message."""
    if fmt == "openai_responses":
        return {name: str(message.get("name", message["type"])) for name in calls_of(fmt, message)}
    if fmt == "openai":
        return {c["id"]: c["function"]["name"] for c in message.get("tool_calls") or ()}
    return {
        b["id"]: b["name"]
        for b in message.get("content") or ()
        if isinstance(b, dict) and b.get("type") == "tool_use"
    }


def faults(fmt: Format, messages: Sequence[Json], find: Find = superseded, put: Put = replaced) -> list[str]:
    """Return what is wrong with leaving out what is superseded in a history."""
    buffer = read(messages, by_name(fmt))
    gone = find(buffer, LOOSE)
    instead = put(buffer, gone)
    sent = [instead.get(i, m) for i, m in enumerate(messages)]
    return [
        *_changed_otherwise(fmt, messages, sent, gone),
        *_without_newer(fmt, messages, gone),
        *_rules_broken(fmt, messages, sent),
        *_again(fmt, sent, find),
    ]


def _changed_otherwise(
    fmt: Format, messages: Sequence[Json], sent: Sequence[Json], gone: Sequence[Superseded]
) -> list[str]:
    found = []
    for i, (before, after) in enumerate(zip(messages, sent, strict=True)):
        ids = frozenset(s.call_id for s in gone if s.index == i)
        if not ids:
            found += [f"{i} is another object"] if after is not before else []
        elif blanked(fmt, after, ids) != blanked(fmt, before, ids):
            found.append(f"{i} changed beyond the results {ids}")
        elif is_system(before) or before.get(MARK, {}).keys() & {"ephemeral", "pinned"}:
            found.append(f"{i} is not to be changed")
        elif _size(after) >= _size(before) and "source" not in str(before):
            found.append(f"{i} did not get smaller")
    return found


def _size(message: Json) -> int:
    return len(json.dumps(message, ensure_ascii=False))


def _without_newer(fmt: Format, messages: Sequence[Json], gone: Sequence[Superseded]) -> list[str]:
    """A result that is left out has a newer one of its tool, at the turn named, which is not left out."""
    left = {(s.index, s.call_id) for s in gone}
    turns = {m[UID]: n for n, m in enumerate(said(messages), 1)}
    tools = {
        (answer, name): tools_of(fmt, messages[caller])[name]
        for caller, answer in pairs(fmt, messages)
        for name in set(calls_of(fmt, messages[caller])) & set(results_of(fmt, messages[answer]))
    }
    found = []
    for s in gone:
        newer = {
            turns[messages[at][UID]]
            for (at, name), tool in tools.items()
            if tool == tools[s.index, s.call_id]
            and at >= s.index
            and (at, name) not in left
            and not is_ephemeral(messages[at])
        }
        if int(s.text.removesuffix("]").rsplit(" ", 1)[1]) not in newer:
            found.append(f"{s.call_id} at {s.index} has no newer result at the turn it names")
    return found


def _rules_broken(fmt: Format, messages: Sequence[Json], sent: Sequence[Json]) -> list[str]:
    """Both checkers find no more wrong with what is sent than with what came."""
    before, after = (Counter(rule for rule, _ in broken_rules(fmt, m)) for m in (messages, sent))
    mine, then = (
        Counter((v.rule, v.index) for v in by_name(fmt).violations(list(m))) for m in (messages, sent)
    )
    return [f"{what} is broken" for what in (*(after - before), *(then - mine))]


def _again(fmt: Format, sent: Sequence[Json], find: Find) -> list[str]:
    more = find(read(sent, by_name(fmt)), LOOSE)
    return [f"{s.call_id} at {s.index} would be left out again" for s in more]


@law
@given(conversations)
def test_superseded_results_are_all_that_changes(conversation: tuple[Format, list[Json]]) -> None:
    """Of any history, whole or broken: as declared and no more, valid as before, and once."""
    fmt, messages = conversation
    assert faults(fmt, messages) == []


def _newest_too(buffer: Buffer, identity: Identity) -> tuple[Superseded, ...]:
    gone = superseded(buffer, identity)
    return tuple(replace(s, text="[result superseded; see turn 0]") for s in gone)


def _calls_gone(buffer: Buffer, gone: Sequence[Superseded]) -> dict[int, Any]:
    return {i: {**m, "role": "user", "content": BLANK} for i, m in replaced(buffer, gone).items()}


def _nothing_sticks(buffer: Buffer, gone: Sequence[Superseded]) -> dict[int, Any]:
    return {i: dict(buffer.passed[i]) for i in replaced(buffer, gone)}


def test_what_would_be_wrong_is_found() -> None:
    """A placeholder that names nothing, results that go as a whole, and results that stay are all noticed."""
    assert caught(conversations, lambda c: faults(c[0], c[1], find=_newest_too))
    assert caught(conversations, lambda c: faults(c[0], c[1], put=_calls_gone))
    assert caught(conversations, lambda c: faults(c[0], c[1], put=_nothing_sticks))
