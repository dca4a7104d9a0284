"""The local summariser as a whole: bound, determinism, generations, text of any kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summary.summaries import pooled, summaries
from tests.summary.talk import call, result, talk, tokens

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.summary.extractive import extract, summarise
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.message import BRIDGE, parse, render
from ebbtide_core.summary.model import MAX_ITEM_CHARS, RequestState, Summary
from ebbtide_core.summary.source import SourceMessage, contains

PHRASES = (
    "You must not touch src/a.py.",
    "I decided to use Redis because of E501.",
    "All tests pass.",
    "I will read b.py next.",
    "Which port?",
    "continue",
    "ValueError: bad \ud83d",
    "不要修改数据库。",
    "```\ncode\n",
    "https://x.org/a",
    "## errors\n- x",
    "\x85\u2028\r",
)
words = st.one_of(st.sampled_from(PHRASES), st.text(max_size=20))
ids = st.sampled_from(["t1", "t2", ""])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), words),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["path", "todos", "status", "content"]), inner),
    ),
    max_leaves=5,
)
arguments = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(["path", "command", "todos", "plan", "file_path"]), values, max_size=3),
)
blocks = st.one_of(
    st.builds(Block, st.sampled_from([BlockKind.TEXT, BlockKind.THINKING, BlockKind.OTHER]), words),
    st.builds(Block, st.just(BlockKind.CALL), words, name=words, call_id=ids, arguments=arguments),
    st.builds(Block, st.just(BlockKind.RESULT), words, call_id=ids, is_error=st.booleans()),
)
sources = st.lists(
    st.builds(
        SourceMessage,
        st.integers(-1, 100),
        st.sampled_from(["user", "assistant", "tool", "system", "human"]),
        st.lists(blocks, max_size=3),
    ),
    max_size=6,
)


@given(sources, st.none() | summaries(pooled), st.integers(0, 600))
def test_never_over_budget(source: list[SourceMessage], base: Summary | None, budget: int) -> None:
    """Whatever was said, the summary is valid, parses back, and renders within the budget."""
    made = summarise(source, base=base, budget=budget, count=tokens)
    assert tokens(render(made)) <= max(budget, tokens(BRIDGE))
    assert parse(render(made)) == made


@given(sources)
def test_the_same_source_gives_the_same_summary(source: list[SourceMessage]) -> None:
    """Nothing but the input decides."""
    assert extract(source) == extract(list(source))


@given(sources, summaries(pooled))
def test_names_occur_in_the_source(source: list[SourceMessage], base: Summary) -> None:
    """Files and identifiers stand word for word in the messages or in the base."""
    made = merge([base, extract(source)])
    in_source = contains(source, base)
    assert all(in_source(name) for name in (*made.files_touched, *made.identifiers))


@given(sources, summaries(pooled))
def test_extraction_onto_a_base_is_a_merge(source: list[SourceMessage], base: Summary) -> None:
    """The base summary comes before the messages, as structure, never as text."""
    assert extract(source, base=base) == merge([base, extract(source)])


def test_generations_lose_no_rule_and_repeat_nothing() -> None:
    """Compacted again and again, a growing session keeps its first rule, root cause and request."""
    summary = None
    for generation in range(6):
        source = talk(
            ("user", "Fix job 42. Never touch main.") if generation == 0 else ("user", "continue"),
            *(
                message
                for i in range(20)
                for message in (
                    ("assistant", call("t", path=f"dir{generation}/f{i}.py")),
                    ("user", result("t", f"line {i}")),
                )
            ),
            (
                "assistant",
                "The root cause is f7.py line 12." if generation == 0 else f"Checked part {generation}.",
            ),
        )
        summary = summarise(source, base=summary, budget=900, count=tokens)
        assert tokens(render(summary)) <= 900
    assert summary is not None
    assert summary.active_request == "Fix job 42. Never touch main."
    assert summary.user_constraints == ("Never touch main.",)
    assert summary.decisions == ("The root cause is f7.py line 12.",)
    assert "dir5/f19.py" in summary.files_touched
    assert len(set(summary.files_touched)) == len(summary.files_touched)


def test_three_hundred_tool_rounds_keep_their_one_request() -> None:
    """One request and hundreds of calls is the normal shape: the request stays verbatim and open."""
    request = "Migrate the billing tables.\nNever drop a column."
    source = talk(("user", request), *(m for i in range(300) for m in _round(i)))
    made = summarise(source, base=None, budget=1000, count=tokens)
    assert made.active_request == request
    assert made.active_request_state is RequestState.OPEN
    assert made.user_constraints == ("Never drop a column.",)


def _round(number: int) -> tuple[tuple[str, Block], tuple[str, Block]]:
    asked = call(f"t{number}", command=f"cat sql/table_{number}.sql")
    return ("assistant", asked), ("user", result(f"t{number}", "CREATE TABLE x (id_0 int);" * 20))


RUNS = [
    *(
        "a",
        "/",
        "[",
        "a/",
        "a.",
        "a_",
        "a-1 ",
        '"',
        "'",
        "`",
        "<",
        "</",
        "```",
        " ",
        "\n",
        "\r",
        "\\",
        "%s",
        "。",
    ),
    *(
        "[" * 9 + "]" * 9,
        "v1.1.1.",
        "A.B-",
        "key=",
        "token :",
        "error ",
        "no ",
        "don't ",
        "https://a:",
        "://",
    ),
    *(
        "<<EOF\n",
        "<system-reminder>",
        "*** Add File: x\n",
        "- ",
        "1. ",
        "# ",
        ".!?",
        "不要",
        "a\u0301",
        "C:\\",
    ),
    *("👩\u200d", "🇩🇪", "x:1", "0-0", "exit ", "a b:", "i will ", "a:\n- b\n", "\ud83d"),
]


@pytest.mark.parametrize("unit", RUNS)
def test_any_run_is_read_in_linear_time(unit: str) -> None:
    """Half a megabyte of one sign, or of beginnings that never end, ends at once wherever text is read."""
    _read_everywhere(unit * (500_000 // len(unit)))


def _read_everywhere(noise: str) -> None:
    source = talk(
        ("user", noise),
        ("assistant", noise),
        ("assistant", call("t1", command=noise, path=noise, content=noise)),
        ("user", result("t1", noise, is_error=True)),
    )
    made = summarise(source, base=None, budget=2000, count=tokens)
    assert all(len(item) <= MAX_ITEM_CHARS for item in made.errors)


def test_deep_and_wide_arguments_are_read_within_bounds() -> None:
    """Arguments nested or repeated without end don't exhaust stack or time."""
    deep: object = "a.py"
    for _ in range(10_000):
        deep = [deep]
    wide = {f"k{i}": {"file": f"f{i}.py"} for i in range(100_000)}
    found = extract(talk(("assistant", Block(BlockKind.CALL, "{}", "x", "t", {"a": deep, "b": wide}))))
    assert len(found.files_touched) <= 50
