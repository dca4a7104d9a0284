"""Superseded tool results: which are left out, and what is sent instead."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

import ebbtide
from ebbtide_core import swap
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.errors import InputError
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.views.identity import Identity
from ebbtide_core.views.prune import Superseded, replaced, superseded
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    assistant,
    call,
    figures,
    image,
    marked,
    reading,
    result,
    text,
    user,
)
from tests.laws.world import World

Json = dict[str, Any]
LONG = "line\n" * 40
OTHER = "another line\n" * 40


def read_a(name: str, content: Any, path: str = "/a.py", **more: Any) -> list[Json]:
    """A reading of a file and what it gave."""
    return [assistant(call(name, "Read", file_path=path)), user(result(name, content, **more))]


def chat_calls(**calls: tuple[str, Json]) -> Json:
    """A Chat message with calls: id = (tool, arguments)."""
    made = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        for name, (tool, arguments) in calls.items()
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def gone(messages: Sequence[Json], dialect: Dialect = ANTHROPIC) -> list[tuple[int, str, str]]:
    """What is superseded: index, call id, placeholder."""
    found = superseded(reading(messages, dialect), Identity.of())
    return [(s.index, s.call_id, s.text) for s in found]


def see(turn: int) -> str:
    """The placeholder that names a turn."""
    return f"[result superseded; see turn {turn}]"


def test_the_older_reading_of_a_file_points_to_the_newer_one() -> None:
    """Only its content changes; call, ids and everything else are the very objects that came."""
    messages = [user("go"), *read_a("t1", LONG), *read_a("t2", OTHER), user("so?")]
    before = deepcopy(messages)
    sent = ebbtide.prune(messages)
    assert sent[2] == user({**result("t1", see(5))})
    assert [i for i, (a, b) in enumerate(zip(messages, sent, strict=True)) if a is not b] == [2]
    assert messages == before


def test_a_result_says_where_it_stands_in_the_lineage() -> None:
    """Index, digest and lineage index of its message, so that it can be found in a later buffer."""
    messages = [
        marked(user("now 12:00"), ephemeral=True),
        *read_a("t1", LONG),
        *read_a("t2", LONG),
        user("?"),
    ]
    buffer = reading(messages)
    assert superseded(buffer, Identity.of()) == (
        Superseded(2, "t1", buffer.entries[2].digest, 1, see(4), (3, buffer.entries[4].digest)),
    )


def test_chat_results_are_replaced_alike() -> None:
    """Parallel calls in one message, results in messages of their own; reasoning and arguments stay."""
    look = ("read_file", {"path": "a.py"})
    messages = [
        user("go"),
        {**chat_calls(a=look, b=("bash", {"command": "ls"})), "reasoning_content": "hm"},
        {**answers("a", LONG), "name": "read_file"},
        answers("b", LONG),
        chat_calls(c=look),
        answers("c", OTHER),
        user("so?"),
    ]
    sent = ebbtide.prune(messages)
    assert sent[2] == {"role": "tool", "tool_call_id": "a", "content": see(6), "name": "read_file"}
    assert [a is b for a, b in zip(messages, sent, strict=True)].count(False) == 1


def test_responses_items_are_replaced_alike() -> None:
    """A function's output, and what a shell wrote; how its command ended is kept."""

    def ran(name: str) -> list[Json]:
        read = {
            "type": "function_call",
            "call_id": f"r{name}",
            "name": "read_file",
            "arguments": '{"path":"a"}',
        }
        shell = {"type": "shell_call", "call_id": f"s{name}", "action": {"commands": ["ls"]}}
        wrote = {"stdout": LONG, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        return [
            read,
            shell,
            {"type": "function_call_output", "call_id": f"r{name}", "output": LONG},
            {"type": "shell_call_output", "call_id": f"s{name}", "output": [wrote]},
        ]

    messages = [user("go"), *ran("1"), *ran("2"), user("so?")]
    sent = ebbtide.prune(messages)
    assert sent[3] == {**messages[3], "output": see(8)}
    assert sent[4]["output"][0] == {**messages[4]["output"][0], "stdout": see(9)}
    assert [i for i, (a, b) in enumerate(zip(messages, sent, strict=True)) if a is not b] == [3, 4]


def test_the_newest_of_each_target_stays() -> None:
    """However often a file was read, its last reading is whole; other targets are not touched."""
    messages = [
        user("go"),
        *(
            m
            for n in range(4)
            for m in (*read_a(f"a{n}", LONG + str(n)), *read_a(f"b{n}", LONG, f"/b{n}.py"))
        ),
        user("so?"),
    ]
    assert gone(messages) == [(index, f"a{n}", see(15)) for n, index in enumerate((2, 6, 10))]


@pytest.mark.parametrize(
    ("older", "newer", "left_out"),
    [
        ((LONG, False), (OTHER, False), True),
        ((LONG, True), (OTHER, False), True),
        ((LONG, False), ("", False), True),
        ((LONG, False), (OTHER, True), False),
        ((LONG, True), (OTHER, True), False),
        ((LONG, True), (LONG, True), True),
        ((LONG, False), ("<returncode>2</returncode>\n" + OTHER, False), False),
        ((LONG, False), ("Error: no such file: a.py", False), False),
        ((LONG, False), ("Exit code 1\n" + OTHER, False), False),
        ((LONG, False), ("File unchanged since your last Read", False), False),
        ((LONG, False), ("[Request interrupted by user]", False), False),
        ((LONG, False), (see(7), False), False),
        ((LONG, False), ("nothing has changed\n" * 40 + "unchanged", False), True),
    ],
)
def test_only_what_says_more_supersedes(
    older: tuple[str, bool], newer: tuple[str, bool], left_out: bool
) -> None:
    """An error takes the place of no success and no other error, nor does an answer that points back."""
    messages = [
        user("go"),
        *read_a("t1", older[0], is_error=older[1]),
        *read_a("t2", newer[0], is_error=newer[1]),
        user("so?"),
    ]
    assert bool(gone(messages)) is left_out


def test_an_error_after_the_newest_success_hides_nothing() -> None:
    """The success before it still supersedes what came earlier, and both stay."""
    messages = [
        user("go"),
        *read_a("t1", LONG),
        *read_a("t2", OTHER),
        *read_a("t3", "no such file", is_error=True),
        user("so?"),
    ]
    assert gone(messages) == [(2, "t1", see(5))]


def test_the_newest_exchange_and_open_calls_are_left_alone() -> None:
    """Twice the same in one batch: while it is the newest, or a call of it waits, nothing is changed."""
    twice = [assistant(*(call(n, "Read", file_path="/a.py") for n in ("t1", "t2")), call("t3"))]
    two = user(result("t1", LONG), result("t2", OTHER))
    done = user(result("t1", LONG), result("t2", OTHER), result("t3"))
    assert gone([user("go"), *twice, done]) == []
    assert gone([user("go"), *twice, two]) == []
    assert gone([user("go"), *twice, done, user("so?")]) == [(2, "t1", see(3))]


@pytest.mark.parametrize("mark", ["pinned", "ephemeral"])
def test_what_the_host_keeps_is_kept(mark: str) -> None:
    """A pinned or ephemeral result is not changed; an ephemeral one, which may go, supersedes nothing."""
    first, second = read_a("t1", LONG), read_a("t2", LONG)
    held = [first[0], marked(first[1], **{mark: True})]
    assert gone([user("go"), *held, *second, user("so?")]) == []
    late = [second[0], marked(second[1], **{mark: True})]
    assert bool(gone([user("go"), *first, *late, user("so?")])) is (mark == "pinned")


def test_internal_results_are_like_any_other() -> None:
    """The mark only says that a message is no anchor for the tail."""
    first = [marked(m, internal=True) for m in read_a("t1", LONG)]
    messages = [user("go"), *first, *read_a("t2", LONG), user("so?")]
    (found,) = superseded(reading(messages), Identity.of())
    assert replaced(reading(messages), [found])[2]["ebbtide"] == {"internal": True}


@pytest.mark.parametrize("short", ["", "ok", "x" * len(see(5))])
def test_what_is_no_longer_than_its_placeholder_stays(short: str) -> None:
    """It would only grow."""
    assert gone([user("go"), *read_a("t1", short), *read_a("t2", LONG), user("so?")]) == []


def test_results_with_images_are_replaced_whole() -> None:
    """However short the text beside them is; a result without a content has nothing to lose."""
    shot = [image(400), text("ok")]
    messages = [user("go"), *read_a("t1", shot), *read_a("t2", shot), user("so?")]
    assert ebbtide.prune(messages)[2] == user(result("t1", see(5)))
    bare = user({"type": "tool_result", "tool_use_id": "t1"})
    assert gone([user("go"), messages[1], bare, *read_a("t2", shot), user("so?")]) == []


def test_other_blocks_stay_as_they_are() -> None:
    """The error mark, the cache mark, a second result and the user's own words."""
    both = [call("t1", "Read", file_path="/a.py"), call("t2", "Read", file_path="/b.py")]
    cached = {"cache_control": {"type": "ephemeral"}, "is_error": True}
    held = user(result("t1", LONG, **cached), result("t2", [text(LONG)]), text("and port 8443\ud83d"))
    messages = [user("go"), assistant(*both), held, *read_a("t3", OTHER), user("so?")]
    assert ebbtide.prune(messages)[2] == user(result("t1", see(5), **cached), *held["content"][1:])


def test_a_reused_id_pairs_with_the_nearest_open_call() -> None:
    """Ids that come again belong to the call before them, not to the first of that name."""
    messages = [
        user("go"),
        *read_a("t1", LONG),
        *read_a("t1", LONG, path="/b.py"),
        *read_a("t1", OTHER),
        user("so?"),
    ]
    assert gone(messages) == [(2, "t1", see(7))]


def test_an_id_twice_in_one_message_is_not_touched() -> None:
    """Which of the two a call means can't be told."""
    messages = [
        user("go"),
        assistant(call("t1", "Read", file_path="/a.py")),
        user(result("t1", LONG), result("t1", OTHER)),
        *read_a("t2", LONG),
        assistant(call("t3", "Read", file_path="/a.py"), call("t3", "Read", file_path="/b.py")),
        user(result("t3", LONG)),
        user("so?"),
    ]
    assert gone(messages) == []


def test_a_bare_command_means_another_directory_after_a_move() -> None:
    """`ls` here and `ls` there are two listings; from the same place they are one."""

    def ran(name: str, command: str, output: str = LONG) -> list[Json]:
        return [assistant(call(name, command=command)), user(result(name, output))]

    messages = [
        user("go"),
        *ran("t1", "ls"),
        *ran("t2", "cd web"),
        *ran("t3", "ls"),
        *ran("t4", "ls"),
        user("?"),
    ]
    assert gone(messages) == [(6, "t3", see(9))]


def test_a_move_in_an_ephemeral_message_is_a_move() -> None:
    """It is outside the lineage, and the shell was there all the same."""
    listing = [[assistant(call(f"t{n}", command="ls")), user(result(f"t{n}", LONG))] for n in range(2)]
    away = [assistant(call("e", command="cd web")), user(result("e", LONG))]
    hidden = [marked(m, ephemeral=True) for m in away]
    assert gone([user("go"), *listing[0], *hidden, *listing[1], user("?")]) == []
    assert gone([user("go"), *listing[0], *listing[1], user("?")]) == [(2, "t0", see(5))]


def test_carried_messages_know_nothing_of_the_place() -> None:
    """What the summary stands for may have led anywhere; an absolute path needs no place."""
    w = World("anthropic", figures(keep_tokens=0, keep_messages=1), 0)
    pinned = marked(assistant(call("t1", "Read", file_path="/a.py"), call("t2", command="ls")), pinned=True)
    kept = [pinned, user(result("t1", LONG), result("t2", LONG))]
    messages = [
        user("go"),
        *kept,
        *[m for n in range(9) for m in (user(f"q{n}"), assistant(OTHER))],
        user("?"),
    ]
    buffer = w.read(messages)
    cut = w.cut(buffer)
    assert cut is not None
    swapped = [dict(m) for m in swap.apply(w.record(buffer, cut), buffer).messages]
    more = [assistant(call("t3", command="ls")), user(result("t3", LONG)), *read_a("t4", OTHER), user("so?")]
    found = superseded(w.read([*swapped, *more]), Identity.of())
    assert [(s.call_id, s.lineage, s.text) for s in found] == [("t1", 2, see(cut.position.count + 5))]


def test_pruning_twice_changes_nothing_more() -> None:
    """A placeholder supersedes nothing and is not written anew, also when the conversation went on."""
    messages = [user("go"), *read_a("t1", LONG), *read_a("t2", LONG), user("so?")]
    once = ebbtide.prune(messages)
    assert all(a is b for a, b in zip(once, ebbtide.prune(once), strict=True))
    longer = [*map(dict, once), *read_a("t3", OTHER), user("and?")]
    assert [(s, t) for _, s, t in gone(longer)] == [("t2", see(8))]


def test_rules_say_what_is_alike() -> None:
    """Tools of the host's own; an empty mapping leaves everything."""
    messages = [
        user("go"),
        *(
            m
            for n in range(2)
            for m in (assistant(call(f"t{n}", "get_order", id=7, at=n)), user(result(f"t{n}", LONG)))
        ),
        user("so?"),
    ]
    assert ebbtide.prune(messages) == messages
    assert ebbtide.prune(messages, superseding={"get_order": ("id",)})[2] == user(result("t0", see(5)))
    reads = [user("go"), *read_a("t1", LONG), *read_a("t2", LONG), user("so?")]
    assert ebbtide.prune(reads, superseding={}) == reads


class Dumped:
    """A message of a provider's SDK."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.message = message

    def to_dict(self) -> Mapping[str, Any]:
        """Return what it holds."""
        return self.message


def test_objects_of_an_sdk_are_read_and_only_pruned_ones_copied() -> None:
    """Their own dump is read; what is unchanged comes back as the object itself."""
    plain = [user("go"), *read_a("t1", LONG), *read_a("t2", LONG), user("so?")]
    messages: list[Any] = [Dumped(m) for m in plain]
    sent = ebbtide.prune(messages)
    assert sent[2] == user(result("t1", see(5)))
    assert [i for i, m in enumerate(sent) if m is not messages[i]] == [2]


def test_the_format_is_given_named_or_found() -> None:
    """By dialect, by model, or by how the messages call tools."""
    messages = [user("go"), *read_a("t1", LONG), *read_a("t2", LONG), user("so?")]
    for options in ({}, {"dialect": "anthropic"}, {"dialect": ANTHROPIC}, {"model": "claude-x"}):
        assert ebbtide.prune(messages, **options) != messages
    assert ebbtide.prune(messages, dialect=OPENAI) == messages
    assert ebbtide.prune(messages, model="gpt-x") == messages


@pytest.mark.parametrize(
    ("messages", "options", "says"),
    [
        ("x", {}, "must be a list"),
        ([user("a"), 7], {}, "message 1: a message is an object"),
        ([user("a"), {"role": "user", "content": {1, 2}}], {}, "message 1, content: set is not JSON"),
        ([user("a")], {"dialect": "latin"}, "unknown dialect"),
        ([user("a")], {"superseding": {"x": "y"}}, "superseding.x"),
    ],
)
def test_what_is_no_conversation_is_refused(messages: Any, options: Json, says: str) -> None:
    """The error names the place."""
    with pytest.raises(InputError, match=says):
        ebbtide.prune(messages, **options)


def test_nothing_to_prune_gives_the_same_objects() -> None:
    """Also for no messages at all."""
    assert ebbtide.prune([]) == []
    buffer: Buffer = reading([])
    assert superseded(buffer, Identity.of()) == ()
    assert replaced(buffer, ()) == {}
