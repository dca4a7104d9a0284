"""OpenAI's Responses items: whose each is, what it says, what it costs, and what it holds together."""

from __future__ import annotations

import pytest

from ebbtide_core.dialects.base import Base, Block, BlockKind
from ebbtide_core.errors import InputError
from ebbtide_core.lineage.buffer import Kind, read
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.lineage.issues import IssueKind
from ebbtide_core.policy import DOCUMENT_TOKENS, IMAGE_TOKENS
from tests.dialects.examples import RESPONSES, Json, invoked, item, reasoned, returned, said

CALL, RESULT, NATIVE, TEXT, THINKING = (
    BlockKind.CALL,
    BlockKind.RESULT,
    BlockKind.NATIVE,
    BlockKind.TEXT,
    BlockKind.THINKING,
)
PATCH = {"type": "update_file", "path": "a.py", "diff": "@@"}
DATA = "data:image/png;base64," + "A" * 4_000


def wrote(out: str, code: int = 0) -> Json:
    """A chunk of what a shell wrote."""
    return {"stdout": out, "stderr": "", "outcome": {"type": "exit", "exit_code": code}}


ITEMS: list[tuple[Json, str, list[Block]]] = [
    ({"role": "user", "content": "hi"}, "user", [Block(TEXT, "hi")]),
    (said("assistant", {"type": "output_text", "text": "hi"}), "assistant", [Block(TEXT, "hi")]),
    (said("assistant", {"type": "refusal", "refusal": "no"}), "assistant", [Block(TEXT, "no")]),
    (said("developer", "be brief"), "developer", [Block(TEXT, "be brief")]),
    (
        said("user", {"type": "input_image", "image_url": DATA}, {"type": "input_file", "file_id": "f"}),
        "user",
        [Block(BlockKind.IMAGE), Block(BlockKind.DOCUMENT)],
    ),
    (said("user", {"type": "later"}), "user", [Block(BlockKind.OTHER)]),
    (reasoned("rs_1", "hm", "so"), "assistant", [Block(THINKING, "hm\nso")]),
    (invoked("c1", "bash", '{"a":  1}'), "assistant", [Block(CALL, '{"a":1}', "bash", "c1", {"a": 1})]),
    (
        item("custom_tool_call", call_id="c1", name="edit", input="raw text"),
        "assistant",
        [Block(CALL, "raw text", "edit", "c1")],
    ),
    (
        item("local_shell_call", call_id="c1", action={"command": ["ls"]}),
        "assistant",
        [Block(CALL, '{"command":["ls"]}', "local_shell", "c1", {"command": ["ls"]})],
    ),
    (
        item("shell_call", call_id="c1", action={"commands": ["ls"]}),
        "assistant",
        [Block(CALL, '{"commands":["ls"]}', "shell", "c1", {"commands": ["ls"]})],
    ),
    (
        item("apply_patch_call", call_id="c1", operation=PATCH),
        "assistant",
        [Block(CALL, '{"type":"update_file","path":"a.py","diff":"@@"}', "apply_patch", "c1", PATCH)],
    ),
    (
        item("computer_call", call_id="c1", actions=[{"type": "wait"}]),
        "assistant",
        [Block(CALL, '[{"type":"wait"}]', "computer", "c1")],
    ),
    (returned("c1", "out"), "tool", [Block(RESULT, "out", call_id="c1")]),
    (
        returned("c1", [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": DATA}]),
        "tool",
        [Block(RESULT, "a", call_id="c1")],
    ),
    (
        item("custom_tool_call_output", call_id="c1", output="out"),
        "tool",
        [Block(RESULT, "out", call_id="c1")],
    ),
    (item("local_shell_call_output", id="c1", output="out"), "tool", [Block(RESULT, "out", call_id="c1")]),
    (
        item("shell_call_output", call_id="c1", output=[wrote("a"), wrote("b", 2)]),
        "tool",
        [Block(RESULT, "a\nb", call_id="c1", is_error=True)],
    ),
    (
        item("apply_patch_call_output", call_id="c1", status="failed", output="no such file"),
        "tool",
        [Block(RESULT, "no such file", call_id="c1", is_error=True)],
    ),
    (
        item("computer_call_output", call_id="c1", output={"type": "computer_screenshot", "image_url": DATA}),
        "tool",
        [Block(RESULT, call_id="c1")],
    ),
    (
        item("web_search_call", id="ws", action={"type": "search", "query": "tide"}),
        "assistant",
        [Block(NATIVE, "tide", "web_search_call")],
    ),
    (
        item("file_search_call", id="fs", queries=["q"], results=[{"filename": "a.md", "text": "t"}]),
        "assistant",
        [Block(NATIVE, "q\nt\na.md", "file_search_call")],
    ),
    (
        item("code_interpreter_call", id="ci", code="1+1", outputs=[{"type": "logs", "logs": "2"}]),
        "assistant",
        [Block(NATIVE, "1+1\n2", "code_interpreter_call")],
    ),
    (
        item("mcp_call", id="m", name="f", arguments="{}", output="out", server_label="s"),
        "assistant",
        [Block(NATIVE, "f\n{}\nout", "mcp_call")],
    ),
    (
        item("image_generation_call", id="ig", result="AAAA"),
        "assistant",
        [Block(NATIVE, "", "image_generation_call")],
    ),
    (item("compaction", encrypted_content="gAAA"), "assistant", [Block(NATIVE, "", "compaction")]),
    (
        item("mcp_approval_response", approval_request_id="m", approve=True),
        "tool",
        [Block(NATIVE, "", "mcp_approval_response")],
    ),
    ({"id": "msg_1"}, "assistant", [Block(NATIVE, "", "item_reference")]),
    (item("configuration_update", reasoning={}), "developer", [Block(NATIVE, "", "configuration_update")]),
    (item("later_call", id="x"), "assistant", [Block(BlockKind.OTHER)]),
]


@pytest.mark.parametrize(
    ("message", "role", "expected"), ITEMS, ids=lambda v: v.get("type") if isinstance(v, dict) else ""
)
def test_each_item_is_read_as_its_kind(message: Json, role: str, expected: list[Block]) -> None:
    """Role by type where an item has none, words where there are any."""
    assert RESPONSES.role(message) == role
    assert list(RESPONSES.blocks(message)) == expected
    assert RESPONSES.knows(message) == all(block.kind is not BlockKind.OTHER for block in expected)


def test_an_item_without_role_and_type_is_refused() -> None:
    """In a format whose messages need a role, an item without one is refused as ever."""
    with pytest.raises(InputError, match="a message has a role"):
        read([{"content": "x"}], RESPONSES)
    assert read([invoked("a")], RESPONSES).entries[0].calls == ("a",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "hi"}, said("user", {"type": "input_text", "text": "hi"})),
        ({"role": "assistant", "content": "hi"}, said("assistant", {"type": "output_text", "text": "hi"})),
        (returned("c1", "hi"), returned("c1", [{"type": "input_text", "text": "hi"}])),
        (invoked("c1"), {**invoked("c1"), "status": None}),
        (
            said("user", {"type": "input_text", "text": "hi"}),
            said(
                "user", {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
            ),
        ),
        (
            item("shell_call", call_id="c", action={"commands": []}),
            item("shell_call", call_id="c", action={"commands": [], "timeout_ms": None}),
        ),
    ],
)
def test_spellings_that_mean_the_same_have_one_canonical_form(one: Json, other: Json) -> None:
    """A host may echo what the API returned or write it shorter."""
    assert canonical(one, RESPONSES) == canonical(other, RESPONSES)


@pytest.mark.parametrize(
    ("message", "fixed"),
    [
        (said("user", {"type": "input_image", "image_url": DATA}), IMAGE_TOKENS),
        (
            said("user", {"type": "input_file", "file_data": "data:application/pdf;base64," + "A" * 4_000}),
            DOCUMENT_TOKENS,
        ),
        (returned("c1", [{"type": "input_image", "image_url": DATA}]), IMAGE_TOKENS),
        (
            item(
                "computer_call_output", call_id="c", output={"type": "computer_screenshot", "image_url": DATA}
            ),
            IMAGE_TOKENS,
        ),
        (item("image_generation_call", id="i", result="A" * 4_000), IMAGE_TOKENS),
        (
            item("code_interpreter_call", id="c", code="", outputs=[{"type": "image", "url": DATA}]),
            IMAGE_TOKENS,
        ),
        (reasoned("r"), 0),
    ],
)
def test_payloads_cost_a_fixed_amount(message: Json, fixed: int) -> None:
    """Images, files and screenshots, in messages, outputs and the provider's own items."""
    weight = RESPONSES.weight(message)
    assert weight.fixed == fixed
    assert len(weight.text) < 300


def test_what_is_encrypted_counts_as_text() -> None:
    """Reasoning and compaction items cost about what they weigh."""
    assert "g" * 500 in RESPONSES.weight(item("compaction", encrypted_content="g" * 500)).text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (returned("c1", "a"), returned("c1", "gone")),
        (returned("c1", [{"type": "input_image", "image_url": DATA}]), returned("c1", "gone")),
        (returned("c2", "a"), returned("c2", "a")),
        (
            item("shell_call_output", call_id="c1", output=[wrote("a"), wrote("b", 2)]),
            item("shell_call_output", call_id="c1", output=[wrote("gone", 2)]),
        ),
        (
            item("computer_call_output", call_id="c1", output={"type": "computer_screenshot"}),
            item("computer_call_output", call_id="c1", output={"type": "computer_screenshot"}),
        ),
        (invoked("c1"), invoked("c1")),
    ],
)
def test_a_result_is_replaced_in_its_own_shape(message: Json, expected: Json) -> None:
    """A shell's output stays a list of chunks; a screenshot stays one."""
    assert RESPONSES.replace_results(message, {"c1": "gone"}) == expected


def test_each_text_of_an_output_is_changed() -> None:
    """Strings, parts and what a shell wrote; outcomes and ids stay."""
    shell = item("shell_call_output", call_id="c1", output=[wrote("a")])
    assert RESPONSES.map_results(shell, str.upper) == item(
        "shell_call_output", call_id="c1", output=[wrote("A")]
    )
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "x"}]
    changed = RESPONSES.map_results(returned("c1", parts), str.upper)
    assert changed == returned("c1", [{"type": "input_text", "text": "A"}, parts[1]])


def runs(messages: list[Json]) -> list[tuple[int, int]]:
    """The exchanges as start and stop."""
    return [(run.start, run.stop) for run in exchanges(read(messages, RESPONSES).entries)]


USER, ANSWER = {"role": "user", "content": "go"}, said("assistant", {"type": "output_text", "text": "ok"})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER, ANSWER], [(0, 1), (1, 2)]),
        ([USER, reasoned(), ANSWER, USER], [(0, 1), (1, 3), (3, 4)]),
        ([USER, reasoned(), invoked("a"), returned("a"), ANSWER], [(0, 1), (1, 4), (4, 5)]),
        ([reasoned(), invoked("a"), invoked("b"), returned("b"), returned("a")], [(0, 5)]),
        ([reasoned(), ANSWER, invoked("a"), returned("a"), reasoned("r2"), ANSWER], [(0, 4), (4, 6)]),
        ([ANSWER, invoked("a"), returned("a")], [(0, 1), (1, 3)]),
        ([reasoned(), said("developer", "x"), ANSWER], [(0, 3)]),
        ([reasoned(), {"role": "user", "content": "e", "ebbtide": {"ephemeral": True}}, ANSWER], [(0, 3)]),
        ([reasoned(), USER], [(0, 1), (1, 2)]),
        (
            [
                item("mcp_approval_request", id="m"),
                USER,
                item("mcp_approval_response", approval_request_id="m"),
            ],
            [(0, 3)],
        ),
        (
            [
                item("program", call_id="p"),
                invoked("a"),
                returned("a"),
                item("program_output", call_id="p"),
                ANSWER,
            ],
            [(0, 4), (4, 5)],
        ),
    ],
)
def test_reasoning_stays_with_its_answer(messages: list[Json], expected: list[tuple[int, int]]) -> None:
    """Reasoning, the calls after it and their outputs are one exchange; so is what the provider begins and
    ends."""
    assert runs(messages) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([USER, invoked("a"), invoked("b")], [1, 2]),
        ([USER, invoked("a"), reasoned(), invoked("b"), returned("b")], [1]),
        ([USER, invoked("a"), USER], []),
    ],
)
def test_calls_of_an_answer_are_open_until_somebody_speaks(messages: list[Json], expected: list[int]) -> None:
    """Parallel calls are items of their own."""
    found = exchanges(read(messages, RESPONSES).entries)
    assert [
        i
        for run in found
        if run.open
        for i in range(run.start, run.stop)
        if messages[i] in map(invoked, "ab")
    ] == expected


def test_parallel_calls_are_no_oddity() -> None:
    """A second call before the first one's output is the same answer; a call the user passes over is one."""
    assert read([USER, invoked("a"), invoked("b"), returned("a"), returned("b")], RESPONSES).issues == ()
    (issue,) = read([USER, invoked("a"), USER], RESPONSES).issues
    assert issue.kind is IssueKind.CALL_WITHOUT_RESULT


def test_what_steers_the_model_is_no_part_of_the_talk() -> None:
    """Added tools and changed settings stay like system messages."""
    steering = [
        item("additional_tools", role="developer", tools=[]),
        item("configuration_update", reasoning={}),
    ]
    assert [entry.kind for entry in read([*steering, USER], RESPONSES).entries] == [
        Kind.SYSTEM,
        Kind.SYSTEM,
        Kind.SPOKEN,
    ]


def test_only_openai_can_read_its_compaction() -> None:
    """So it can't be summarised."""
    assert RESPONSES.ties(item("compaction", encrypted_content="g")).base is Base.SEALED
