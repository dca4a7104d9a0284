"""Plain values of foreign objects, canonical bytes, digests, compressed documents."""

from __future__ import annotations

import json
from collections import OrderedDict, UserDict
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest
import zstandard
from anthropic.types import Message as SdkMessage
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock, Usage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ebbtide_core.errors import ContractError, InputError
from ebbtide_core.jsonio import (
    MAX_DEPTH,
    canonical_bytes,
    canonical_form,
    compact,
    digest,
    pack,
    plain,
    repaired,
    unpack,
    well_formed,
)


class Colour(str, Enum):  # noqa: UP042  a StrEnum prints as its value
    """A string that prints as something else."""

    RED = "red"


class Level(IntEnum):
    """A number with a name."""

    HIGH = 3


class Loud(float):
    """A number that converts to something else."""

    def __float__(self) -> float:
        return 99.0


class Block(BaseModel):
    """A model as SDKs use them."""

    type: str
    text: str
    citations: None = None


class HasToDict:
    """An object with a dump of its own name."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dict that holds a further object."""
        return {"type": "text", "parts": (Block(type="text", text="hi"),)}


class HasDict:
    """An object of an older SDK."""

    def dict(self) -> Any:
        """Return it as a dict."""
        return {"type": "text"}


class Fails:
    """An object whose dump fails."""

    def model_dump(self, **_: Any) -> Any:
        """Fail."""
        raise RuntimeError("boom")


class Endless:
    """An object whose dump is itself."""

    def to_dict(self) -> Any:
        """Return itself."""
        return self


@dataclass
class Other:
    """An object without a dump."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Loud(1.5), 1.5),
        (True, True),
        ((1, (2, "x")), [1, [2, "x"]]),
        (OrderedDict(a=(1,)), {"a": [1]}),
        (UserDict({"a": 1}), {"a": 1}),
        (MappingProxyType({"a": [None]}), {"a": [None]}),
        (Block(type="text", text="hi"), {"type": "text", "text": "hi", "citations": None}),
        (HasToDict(), {"type": "text", "parts": [{"type": "text", "text": "hi", "citations": None}]}),
        (HasDict(), {"type": "text"}),
        ({"a": {"b": [Colour.RED]}}, {"a": {"b": ["red"]}}),
    ],
)
def test_foreign_values_become_plain_json(value: Any, expected: Any) -> None:
    """Subclasses count as what they are, tuples as lists, objects as their own dump."""
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found)) == expected


def test_the_sdk_s_own_blocks_become_plain_json() -> None:
    """The blocks of a real SDK answer can be put into a message as they are."""
    answer = SdkMessage(
        id="msg_1",
        content=[
            ThinkingBlock(type="thinking", thinking="hm", signature="Sg="),
            TextBlock(type="text", text="done"),
            ToolUseBlock(type="tool_use", id="t1", name="bash", input={"cmd": "ls"}),
        ],
        model="claude-sonnet-5-5",
        role="assistant",
        stop_reason="tool_use",
        type="message",
        usage=Usage(input_tokens=1, output_tokens=1),
    )
    found = plain({"role": "assistant", "content": answer.content})
    kinds = [(block["type"], type(block)) for block in found["content"]]
    assert kinds == [("thinking", dict), ("text", dict), ("tool_use", dict)]
    assert found["content"][2]["input"] == {"cmd": "ls"}
    assert plain(answer)["content"][1]["text"] == "done"


def test_what_is_plain_already_comes_back_itself() -> None:
    """Nothing is copied without need, so that identity says whether a message was changed."""
    value = {"a": [1, 2.5, None, True, {"b": "x"}], "c": {}}
    assert plain(value) is value


def test_what_is_made_plain_is_never_changed_in_place() -> None:
    """The host's containers keep their objects."""
    block = Block(type="text", text="hi")
    value = {"content": [block], "same": [1]}
    found = plain(value)
    assert value["content"] == [block]
    assert found["same"] is value["same"]


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ({"content": [{"input": {"when": object()}}]}, "content[0].input.when", "object is not JSON"),
        ({"a": [0, {1, 2}]}, "a[1]", "set is not JSON"),
        ({"a": b"bytes"}, "a", "bytes is not JSON"),
        ({"a": Other()}, "a", "Other is not JSON"),
        ({"a": Block}, "a", "is not JSON"),
        ({"a": float("nan")}, "a", "not a JSON number"),
        ([1, float("-inf")], "[1]", "not a JSON number"),
        ({"a": {1: "x"}}, "a", "key 1 is not a string"),
        ({"a": {None: "x"}}, "a", "key None is not a string"),
        ({"a": 10**5000}, "a", "integer"),
        ({"a": Fails()}, "a", "its own dump failed: boom"),
        ({"a": (1, object())}, "a[1]", "object is not JSON"),
    ],
)
def test_what_is_not_json_is_named_by_its_path(value: Any, path: str, problem: str) -> None:
    """The error leads to the very value."""
    with pytest.raises(InputError, match=problem) as raised:
        plain(value)
    assert raised.value.path == path


@pytest.mark.parametrize("around", [lambda v: [v], lambda v: {"a": v}, lambda v: (v,)])
def test_too_deep_nesting_is_an_error_and_not_a_crash(around: Any) -> None:
    """Lists, dicts and tuples alike; what is just deep enough passes."""

    def nested(levels: int) -> Any:
        value: Any = "x"
        for _ in range(levels):
            value = around(value)
        return value

    plain(nested(MAX_DEPTH))
    with pytest.raises(InputError, match="nested deeper"):
        plain(nested(MAX_DEPTH + 1))
    with pytest.raises(InputError, match="nested deeper"):
        plain(nested(5_000))


def test_loops_are_an_error_and_not_a_crash() -> None:
    """A list that holds itself, and an object whose dump is itself."""
    loop: list[Any] = []
    loop.append(loop)
    for value in (loop, Endless()):
        with pytest.raises(InputError, match="nested deeper"):
            plain(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_canonical_bytes_are_sorted_compact_utf8(value: Any) -> None:
    """They read back as the value, whatever order its keys had."""
    form = canonical_bytes(value)
    assert json.loads(form) == json.loads(json.dumps(well_formed_everywhere(value)))
    assert canonical_bytes(_reversed(value)) == form


def well_formed_everywhere(value: Any) -> Any:
    """The value without lone surrogates."""
    return repaired(value)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _reversed(v) for k, v in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def test_lone_surrogates_are_replaced_one_by_one() -> None:
    """In texts, keys and canonical bytes; what is whole stays."""
    broken = {"k\ud800": ["a\ud83d", "\udc00b", "\U0001f44d"]}
    assert repaired(broken) == {"k\ufffd": ["a\ufffd", "\ufffdb", "\U0001f44d"]}
    assert canonical_form(broken) == ('{"k\ufffd":["a\ufffd","\ufffdb","\U0001f44d"]}'.encode(), True)
    assert canonical_form(["\U0001f44d"]) == ('["\U0001f44d"]'.encode(), False)
    assert compact({"b": "\ud83d", "a": 1}) == '{"b":"\ufffd","a":1}'
    assert well_formed("plain") == "plain"


def test_a_digest_depends_on_domain_and_on_where_parts_end() -> None:
    """Moving a byte from one part to the next, or another domain, gives another digest."""
    made = {
        digest(b"d", b"ab", b"c"),
        digest(b"d", b"a", b"bc"),
        digest(b"d", b"abc"),
        digest(b"d", b"ab", b"c", b""),
        digest(b"e", b"ab", b"c"),
    }
    assert len(made) == 5
    assert {len(d) for d in made} == {16}


@given(st.binary(max_size=200))
def test_a_packed_document_unpacks(document: bytes) -> None:
    """Compression loses nothing."""
    assert unpack(pack(document)) == document


def test_a_damaged_or_too_large_document_is_refused() -> None:
    """Before it is unpacked, so that a small bomb can't fill the memory."""
    stored = pack(b"x" * 1_000)
    for damaged in (b"", b"not zstd", stored[:-3], stored[:5], b"\x00" * 40):
        with pytest.raises(ContractError):
            unpack(damaged)
    with pytest.raises(ContractError, match="1000 bytes, at most 999"):
        unpack(stored, limit=999)
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 1_000)
    with pytest.raises(ContractError):
        unpack(unsized)
