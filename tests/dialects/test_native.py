"""What Anthropic runs itself, and documents: known, carried to the byte, no calls of the host, never torn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.base import Base, Block, BlockKind
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.policy import DOCUMENT_TOKENS
from tests.core.say import reading
from tests.dialects.examples import ANTHROPIC, Json, assistant, call, result, text, user

NATIVE, DOCUMENT = BlockKind.NATIVE, BlockKind.DOCUMENT

SEARCH: Json = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tide"}}
FOUND: Json = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [
        {"type": "web_search_result", "title": "Tides", "url": "https://e.org", "encrypted_content": "xx"}
    ],
}
MCP: Json = {"type": "mcp_tool_use", "id": "m1", "name": "ask", "server_name": "s", "input": {}}
MCP_RESULT: Json = {
    "type": "mcp_tool_result",
    "tool_use_id": "m1",
    "content": [text("yes")],
    "is_error": True,
}
COMPACTION: Json = {"type": "compaction", "content": "Port 8443 was chosen.", "signature": "c1"}
PDF: Json = {"type": "base64", "media_type": "application/pdf", "data": "A" * 4_000}
FETCHED: Json = {
    "type": "web_fetch_tool_result",
    "tool_use_id": "s1",
    "content": {
        "type": "web_fetch_result",
        "url": "https://e.org/a.pdf",
        "content": {"type": "document", "title": "A", "source": PDF},
    },
}


def document(source: Json, **keys: Any) -> Json:
    """A document block."""
    return {"type": "document", "source": source, **keys}


BLOCKS: list[tuple[Json, Block]] = [
    (SEARCH, Block(NATIVE, '{"query":"tide"}', "web_search")),
    (FOUND, Block(NATIVE, "Tides\nhttps://e.org")),
    (MCP, Block(NATIVE, "{}", "ask")),
    (MCP_RESULT, Block(NATIVE, "yes", is_error=True)),
    (FETCHED, Block(NATIVE, "https://e.org/a.pdf\nA")),
    (
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "bash_code_execution_result", "stdout": "2", "stderr": "warn", "content": []},
        },
        Block(NATIVE, "2\nwarn"),
    ),
    (
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "s1",
            "content": {"tool_references": [{"type": "tool_reference", "tool_name": "grep"}]},
        },
        Block(NATIVE, "grep"),
    ),
    ({"type": "tool_reference", "tool_name": "grep"}, Block(NATIVE, "grep")),
    (COMPACTION, Block(NATIVE, "Port 8443 was chosen.")),
    ({"type": "compaction", "content": None}, Block(NATIVE)),
    ({"type": "container_upload", "file_id": "f"}, Block(NATIVE)),
    ({"type": "mcp_tool_listing", "tools": [{"name": "t"}]}, Block(NATIVE)),
    ({"type": "tool_addition", "tool": {"name": "t"}}, Block(NATIVE)),
    ({"type": "tool_removal", "tool": {"name": "t"}}, Block(NATIVE)),
    ({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}, Block(NATIVE)),
    (
        document({"type": "text", "media_type": "text/plain", "data": "Words."}, title="T", context="C"),
        Block(DOCUMENT, "T\nC\nWords."),
    ),
    (document({"type": "content", "content": [text("a"), text("b")]}), Block(DOCUMENT, "a\nb")),
    (document({"type": "content", "content": "a"}, citations={"enabled": True}), Block(DOCUMENT, "a")),
    (document({"type": "url", "url": "https://e.org/a.pdf"}), Block(DOCUMENT, "https://e.org/a.pdf")),
    (document({"type": "file", "file_id": "f"}), Block(DOCUMENT)),
    (document(PDF), Block(DOCUMENT)),
    (
        {"type": "search_result", "source": "s.md", "title": "T", "content": [text("a")]},
        Block(DOCUMENT, "T\ns.md\na"),
    ),
]


@pytest.mark.parametrize(
    ("block", "expected"), BLOCKS, ids=lambda v: v.get("type") if isinstance(v, dict) else ""
)
def test_blocks_are_known_and_read(block: Json, expected: Block) -> None:
    """Words reach who summarises; no block is unknown, none is a call or a result of the host's."""
    message = assistant(block)
    assert list(ANTHROPIC.blocks(message)) == [expected]
    assert ANTHROPIC.knows(message)
    assert (ANTHROPIC.calls(message), ANTHROPIC.results(message)) == ([], [])
    assert list(ANTHROPIC.blocks(json.loads(canonical(message, ANTHROPIC)))) == [expected]


def test_documents_in_a_result_are_read_with_it() -> None:
    """A host's tool may return documents and search results; images have no words."""
    image = {"type": "image", "source": {"type": "url", "url": "https://e.org/x.png"}}
    content = [text("see"), document({"type": "text", "media_type": "text/plain", "data": "Terms"}), image]
    (block,) = ANTHROPIC.blocks(user(result("t1", content)))
    assert (block.kind, block.text) == (BlockKind.RESULT, "see\nTerms")


@pytest.mark.parametrize(
    ("block", "fixed"), [(FETCHED, DOCUMENT_TOKENS), (document(PDF), DOCUMENT_TOKENS), (FOUND, 0)]
)
def test_words_count_and_base64_does_not(block: Json, fixed: int) -> None:
    """A fetched PDF costs what a PDF costs."""
    weight = ANTHROPIC.weight(assistant(block))
    assert weight.fixed == fixed
    assert len(weight.text) < 400
    assert block["type"] in weight.text


def test_what_is_encrypted_counts_as_text() -> None:
    """It is read by the model, and costs about what it weighs."""
    sealed = {**COMPACTION, "encrypted_content": "e" * 500}
    assert "e" * 500 in ANTHROPIC.weight(assistant(sealed)).text


@pytest.mark.parametrize(
    ("blocks", "begun", "ended"),
    [
        ([SEARCH, FOUND], (), ()),
        ([SEARCH], ("s1",), ()),
        ([FOUND, text("so")], (), ("s1",)),
        ([MCP, SEARCH, FOUND], ("m1",), ()),
        ([call("t1")], (), ()),
    ],
)
def test_uses_and_results_that_stand_apart(
    blocks: list[Json], begun: Sequence[str], ended: Sequence[str]
) -> None:
    """Those in one message need no tie."""
    ties = ANTHROPIC.ties(assistant(*blocks))
    assert (ties.begun, ties.ended) == (begun, ended)


@pytest.mark.parametrize(
    ("block", "base"),
    [
        (COMPACTION, Base.READABLE),
        ({"type": "compaction", "content": None}, Base.NONE),
        ({"type": "compaction", "content": None, "encrypted_content": "x"}, Base.SEALED),
        (text("a"), Base.NONE),
        (SEARCH, Base.NONE),
    ],
)
def test_a_compaction_stands_for_what_came_before(block: Json, base: Base) -> None:
    """One that failed stands for nothing; one that only the provider reads can't be summarised."""
    assert ANTHROPIC.ties(assistant(block)).base is base


def runs(messages: list[Json]) -> list[tuple[int, int]]:
    """The exchanges as start and stop."""
    return [(run.start, run.stop) for run in exchanges(reading(messages).entries)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("go"), assistant(SEARCH, FOUND, text("so")), user("and?")], [(0, 1), (1, 2), (2, 3)]),
        (
            [user("go"), assistant(SEARCH), assistant(FOUND, text("so")), user("and?")],
            [(0, 1), (1, 3), (3, 4)],
        ),
        (
            [
                user("go"),
                assistant(SEARCH, call("t1")),
                user(result("t1")),
                assistant(FOUND, text("so")),
                user("a"),
            ],
            [(0, 1), (1, 4), (4, 5)],
        ),
        ([assistant(SEARCH), assistant(FOUND), assistant(SEARCH), assistant(FOUND)], [(0, 2), (2, 4)]),
        ([assistant(SEARCH), user("never mind"), assistant("ok")], [(0, 1), (1, 2), (2, 3)]),
        ([assistant(MCP), assistant(MCP_RESULT)], [(0, 2)]),
    ],
)
def test_a_provider_s_use_stays_with_its_result(
    messages: list[Json], expected: list[tuple[int, int]]
) -> None:
    """Across a paused turn, and across a call that the host had to answer first."""
    assert runs(messages) == expected


natives = st.sampled_from([SEARCH, FOUND, MCP, MCP_RESULT, FETCHED, COMPACTION, text("a"), document(PDF)])


@given(
    messages=st.lists(
        st.lists(natives, min_size=1, max_size=4).map(lambda blocks: assistant(*blocks)), max_size=8
    )
)
def test_no_cut_between_exchanges_tears_a_pair(messages: list[Json]) -> None:
    """Whatever comes before a cut ends before it."""
    for start, _ in runs(messages):
        begun = {name for m in messages[:start] for name in ANTHROPIC.ties(m).begun}
        head = [m for m in messages[:start] if ANTHROPIC.ties(m).ended]
        answered = {name for m in head for name in ANTHROPIC.ties(m).ended}
        first = next(
            (n for m in messages[start:] for n in ANTHROPIC.ties(m).ended if n in begun - answered), None
        )
        again = [n for m in messages[start:] for n in ANTHROPIC.ties(m).begun]
        assert first is None or first in again


@given(blocks=st.lists(natives, min_size=1, max_size=4))
def test_they_are_carried_to_the_byte(blocks: list[Json]) -> None:
    """The canonical form of native blocks drops nothing but nulls and cache marks, so a change is noticed."""
    message = assistant(*blocks)
    before = json.dumps(message)
    form = json.loads(canonical(message, ANTHROPIC))
    assert form == {**message, "content": form["content"]}
    assert [b for b in form["content"] if b != {}] == blocks
    assert json.dumps(message) == before
