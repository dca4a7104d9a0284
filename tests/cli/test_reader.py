"""Reading transcripts: every shape is read, every fault is told by its kind and stops nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.replay.reader import Found, read_file, read_files
from ebbtide_cli.replay.source import SourceFault, lines
from ebbtide_cli.replay.transcript import Fault, guess_format
from tests.cli.turns import Json, assistant, talk, user

MESSAGES = list(talk(2))


def written(folder: Path, name: str, *values: Any) -> Path:
    """Write values as JSON lines; bytes go in as they are."""
    path = folder / name
    path.write_bytes(b"".join(v if isinstance(v, bytes) else json.dumps(v).encode() + b"\n" for v in values))
    return path


def kinds(found: Found) -> list[Fault]:
    """Return the kinds of all problems."""
    return [problem.kind for problem in found.problems]


def test_json_lines_hold_a_transcript_each(tmp_path: Path) -> None:
    """Messages, id, format, system and tools are taken as they stand."""
    tools = [{"name": "bash"}]
    line = {"id": "a", "format": "openai", "system": "be brief", "tools": tools, "messages": MESSAGES}
    found = read_file(written(tmp_path, "two.jsonl", line, {**line, "id": "b", "format": "anthropic"}))
    first, second = found.transcripts
    assert (first.id, first.format, first.system, first.tools) == ("a", "openai", "be brief", tools)
    assert list(first.messages) == MESSAGES
    assert (second.id, second.format, second.line) == ("b", "anthropic", 2)
    assert found.problems == ()


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    """A compressed file is read whatever it is called."""
    path = tmp_path / "packed.jsonl"
    path.write_bytes(gzip.compress(json.dumps({"messages": MESSAGES}).encode()))
    assert [list(t.messages) for t in read_file(path).transcripts] == [MESSAGES]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("whole", [MESSAGES, {"messages": MESSAGES}], ids=["array", "object"])
def test_one_document_is_one_transcript(tmp_path: Path, indent: int | None, whole: Any) -> None:
    """An array of messages, or an object that holds one, on one line or on many, is named after its file."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(whole, indent=indent))
    (transcript,) = read_file(path).transcripts
    assert list(transcript.messages) == MESSAGES
    assert transcript.id.startswith("chat")


def event(kind: str, message: Json | None = None, **more: Any) -> Json:
    """A line of a Claude Code log."""
    return {"type": kind, "sessionId": "s", **({"message": message} if message else {}), **more}


def block(text: str) -> Json:
    """A text block."""
    return {"type": "text", "text": text}


def test_a_claude_code_log_is_one_conversation(tmp_path: Path) -> None:
    """Its user and assistant events are the messages; other events and sub-agents are passed over."""
    path = written(
        tmp_path,
        "log.jsonl",
        event("summary", summary="earlier"),
        event("user", user("hello")),
        event("assistant", {"id": "m1", "model": "x", "usage": {}, **assistant("hi")}),
        event("user", user("inside"), isSidechain=True),
        event("system", content="note"),
        event("user", user("bye")),
    )
    (transcript,) = read_file(path).transcripts
    assert transcript.messages == (user("hello"), assistant("hi"), user("bye"))
    assert (transcript.id, transcript.format) == ("log", "anthropic")


def test_assistant_events_with_one_message_id_are_one_message(tmp_path: Path) -> None:
    """A message written block by block is put together; another id, or another role between, ends it."""

    def part(name: str, text: str) -> Json:
        return event("assistant", {"id": name, "role": "assistant", "content": [block(text)]})

    path = written(
        tmp_path,
        "log.jsonl",
        event("user", user("go")),
        part("m1", "one"),
        part("m1", "two"),
        part("m2", "three"),
        event("user", user("on")),
        part("m2", "four"),
    )
    (transcript,) = read_file(path).transcripts
    texts = [[b["text"] for b in m["content"]] for m in transcript.messages if m["role"] == "assistant"]
    assert texts == [["one", "two"], ["three"], ["four"]]


def test_a_log_without_conversation_is_told(tmp_path: Path) -> None:
    """Events alone make no transcript."""
    assert kinds(read_file(written(tmp_path, "log.jsonl", event("summary")))) == [Fault.NO_MESSAGES]


BAD_LINES: dict[Fault, Any] = {
    Fault.NOT_JSON: b"{broken\n",
    Fault.NOT_UTF8: b'{"id": "\xff"}\n',
    Fault.NOT_AN_OBJECT: "a string",
    Fault.NO_MESSAGES: {"id": "x"},
    Fault.BAD_MESSAGE: {"messages": [{"content": "who?"}]},
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_stops_nothing(tmp_path: Path, kind: Fault) -> None:
    """It is told by kind and line; the lines around it are read."""
    good = {"messages": MESSAGES}
    found = read_file(written(tmp_path, "mixed.jsonl", good, BAD_LINES[kind], good))
    assert len(found.transcripts) == 2
    assert [(p.kind, p.line) for p in found.problems] == [(kind, 2)]


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_first_line_stops_nothing(tmp_path: Path, kind: Fault) -> None:
    """The first line decides whether a file is one document; a bad one doesn't hide the others."""
    found = read_file(written(tmp_path, "mixed.jsonl", BAD_LINES[kind], {"messages": MESSAGES}))
    assert len(found.transcripts) == 1
    assert kinds(found) == [kind]


@pytest.mark.parametrize("messages", [[], "text", None, {"role": "user"}])
def test_messages_must_be_a_list_with_something_in_it(tmp_path: Path, messages: Any) -> None:
    """Anything else is no conversation."""
    assert kinds(read_file(written(tmp_path, "x.jsonl", {"messages": messages}))) == [Fault.NO_MESSAGES]


def test_faults_of_one_kind_are_counted(tmp_path: Path) -> None:
    """A thousand bad lines are one problem, told by the first."""
    found = read_file(written(tmp_path, "bad.jsonl", {"messages": MESSAGES}, *["text"] * 1_000))
    (problem,) = found.problems
    assert (problem.count, problem.line) == (1_000, 2)


def test_a_cut_document_is_one_fault(tmp_path: Path) -> None:
    """An array that ends too early is not told once a line."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(MESSAGES, indent=2)[:-20])
    (problem,) = read_file(path).problems
    assert (problem.kind, problem.count) == (Fault.NOT_JSON, 1)


def test_damaged_gzip_keeps_what_came_before(tmp_path: Path) -> None:
    """A file cut off in the middle gives its first transcripts and tells of the rest."""
    one = json.dumps({"messages": MESSAGES, "pad": "".join(map(chr, range(33, 120)))}).encode()
    packed = gzip.compress(one + b"\n") + gzip.compress(one + b"\n")[:-30]
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(packed)
    found = read_file(path)
    assert len(found.transcripts) == 1
    assert kinds(found) == [Fault.BAD_GZIP]


def test_a_gz_that_is_none_is_told(tmp_path: Path) -> None:
    """The name promises what the content does not hold."""
    assert kinds(read_file(written(tmp_path, "x.jsonl.gz", b"plain text\n"))) == [Fault.BAD_GZIP]


def test_missing_and_empty_files_are_told(tmp_path: Path) -> None:
    """A missing file, a folder and an empty file don't stop a good one."""
    good = written(tmp_path, "good.jsonl", {"messages": MESSAGES})
    found = read_files([tmp_path / "missing", tmp_path, written(tmp_path, "empty.jsonl"), good])
    assert len(found.transcripts) == 1
    assert kinds(found) == [Fault.UNREADABLE, Fault.UNREADABLE, Fault.EMPTY]


@pytest.mark.parametrize(("max_file", "max_line"), [(100, 1_000), (1_000, 50)])
def test_sizes_are_bounded(tmp_path: Path, max_file: int, max_line: int) -> None:
    """More than the limit of a file or of a line is not read."""
    path = written(tmp_path, "big.jsonl", ["x" * 30], ["y" * 90])
    with pytest.raises(SourceFault) as caught:
        list(lines(path, max_file=max_file, max_line=max_line))
    assert caught.value.kind is Fault.TOO_LARGE


def test_deep_nesting_is_told(tmp_path: Path) -> None:
    """A line that no parser can follow is a bad line."""
    deep = b"[" * 100_000 + b"]" * 100_000 + b"\n"
    assert kinds(read_file(written(tmp_path, "deep.jsonl", {"messages": MESSAGES}, deep))) == [Fault.NOT_JSON]


def test_ids_name_sessions_and_differ(tmp_path: Path) -> None:
    """Equal ids are told apart, and an id that can't name a session is replaced."""
    values = [{"id": name, "messages": MESSAGES} for name in ("same", "same", "x" * 300, "a\nb", 7)]
    found = read_files([written(tmp_path, "x.jsonl", *values)] * 2)
    ids = [t.id for t in found.transcripts]
    assert len(set(ids)) == 10
    assert ids[:3] == ["same", "same#2", "x:3"]


def test_items_without_a_role_are_messages(tmp_path: Path) -> None:
    """A Responses transcript is read like any other; what tells neither role nor type is a bad message."""
    items = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    found = read_file(written(tmp_path, "r.jsonl", {"messages": items}, {"messages": [{"content": "x"}]}))
    (transcript,) = found.transcripts
    assert (transcript.format, list(transcript.messages)) == ("openai_responses", items)
    assert [(p.kind, p.detail) for p in found.problems] == [(Fault.BAD_MESSAGE, "message 0 has no role")]


@pytest.mark.parametrize(
    ("message", "fmt"),
    [
        ({"role": "tool", "tool_call_id": "1", "content": "x"}, "openai"),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, "openai"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "openai"),
        ({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}, "openai_responses"),
        ({"role": "user", "content": [{"type": "input_text", "text": "x"}]}, "openai_responses"),
    ],
)
def test_the_format_is_guessed_from_the_messages(message: Json, fmt: str) -> None:
    """Blocks, calls and roles tell the provider when the file does not."""
    assert guess_format([*MESSAGES, message]) == fmt
