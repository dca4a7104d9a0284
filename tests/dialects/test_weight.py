"""Weight: what is counted as text, and what costs a fixed amount."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.base import Dialect
from ebbtide_core.policy import DOCUMENT_TOKENS, IMAGE_TOKENS
from tests.dialects.examples import (
    ALL,
    ANTHROPIC,
    OPENAI,
    WILD,
    Json,
    answers,
    asks,
    assistant,
    call,
    result,
    source,
    text,
    user,
)

Build = Callable[[str], Json]


def pdf(*objects: bytes) -> str:
    """Bytes that look like a PDF with these objects, in base64."""
    return base64.b64encode(b"%PDF-1.7\n" + b"\n".join(objects) + b"\n%%EOF").decode()


PAYLOADS: list[tuple[str, Dialect, int, Build]] = [
    ("image", ANTHROPIC, IMAGE_TOKENS, lambda p: user({"type": "image", "source": source(p)}, text("t"))),
    (
        "image in a result",
        ANTHROPIC,
        IMAGE_TOKENS,
        lambda p: user(result("a", [text("t"), {"type": "image", "source": source(p)}])),
    ),
    (
        "flat image",
        ANTHROPIC,
        IMAGE_TOKENS,
        lambda p: user(result("a", [{"type": "image", "data": p, "mimeType": "m"}])),
    ),
    (
        "image as data URL",
        ANTHROPIC,
        IMAGE_TOKENS,
        lambda p: user({"type": "image", "source": {"type": "url", "url": f"data:image/png;base64,{p}"}}),
    ),
    (
        "document",
        ANTHROPIC,
        DOCUMENT_TOKENS,
        lambda p: user({"type": "document", "source": source(p), "title": "t"}),
    ),
    (
        "images in a document",
        ANTHROPIC,
        2 * IMAGE_TOKENS,
        lambda p: user(
            {
                "type": "document",
                "source": {"type": "content", "content": [{"type": "image", "source": source(p)}] * 2},
            }
        ),
    ),
    (
        "fetched document",
        ANTHROPIC,
        DOCUMENT_TOKENS,
        lambda p: assistant(
            {
                "type": "web_fetch_tool_result",
                "content": {"content": {"type": "document", "source": source(p)}},
            }
        ),
    ),
    (
        "image URL",
        OPENAI,
        IMAGE_TOKENS,
        lambda p: user({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{p}"}}),
    ),
    (
        "bare image URL",
        OPENAI,
        IMAGE_TOKENS,
        lambda p: user({"type": "image_url", "image_url": f"DATA:,{p}"}),
    ),
    ("raw image", OPENAI, IMAGE_TOKENS, lambda p: user({"type": "image_url", "image_url": {"url": p}})),
    (
        "image in a tool message",
        OPENAI,
        IMAGE_TOKENS,
        lambda p: answers("a", [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{p}"}}]),
    ),
    (
        "file",
        OPENAI,
        DOCUMENT_TOKENS,
        lambda p: user(
            {"type": "file", "file": {"filename": "f", "file_data": f"data:application/pdf;base64,{p}"}}
        ),
    ),
    ("raw file", OPENAI, DOCUMENT_TOKENS, lambda p: user({"type": "file", "file": {"file_data": p}})),
    (
        "audio",
        OPENAI,
        DOCUMENT_TOKENS,
        lambda p: user({"type": "input_audio", "input_audio": {"data": p, "format": "wav"}}),
    ),
    (
        "spoken answer",
        OPENAI,
        DOCUMENT_TOKENS,
        lambda p: {"role": "assistant", "audio": {"id": "a", "data": p, "transcript": "words"}},
    ),
]


@pytest.mark.parametrize(
    ("dialect", "fixed", "build"), [pytest.param(d, f, b, id=f"{d.name}: {n}") for n, d, f, b in PAYLOADS]
)
@given(data=st.binary(min_size=30, max_size=300))
def test_payload_text_never_counts(dialect: Dialect, fixed: int, build: Build, data: bytes) -> None:
    """Base64 costs its fixed amount, and the text is the same whatever it holds."""
    payload = base64.b64encode(data).decode()
    weight = dialect.weight(build(payload))
    assert weight.fixed == fixed
    assert payload not in weight.text
    assert weight.text == dialect.weight(build("A" * 40)).text


@pytest.mark.parametrize(
    ("dialect", "fixed", "message"),
    [
        (
            ANTHROPIC,
            IMAGE_TOKENS,
            user({"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}),
        ),
        (ANTHROPIC, IMAGE_TOKENS, user({"type": "image", "source": {"type": "file", "file_id": "f1"}})),
        (ANTHROPIC, IMAGE_TOKENS, user({"type": "image"})),
        (
            ANTHROPIC,
            DOCUMENT_TOKENS,
            user({"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}}),
        ),
        (ANTHROPIC, 0, user({"type": "document", "source": {**source("plain words", "text")}})),
        (ANTHROPIC, 0, user({"type": "document", "source": {"type": "content", "content": "plain words"}})),
        (ANTHROPIC, 0, user({"type": "redacted_thinking", "data": "opaque"})),
        (
            ANTHROPIC,
            0,
            assistant({"type": "web_search_tool_result", "content": [{"encrypted_content": "opaque"}]}),
        ),
        (ANTHROPIC, 0, assistant({"type": "compaction", "content": "words", "encrypted_content": "opaque"})),
        (ANTHROPIC, 0, assistant(call("a", image={"type": "image", "data": "AAAA"}))),
        (ANTHROPIC, 0, {**user(text("t")), "nothing": None, "z": 1, "a": 2}),
        (
            OPENAI,
            IMAGE_TOKENS,
            user({"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": None}}),
        ),
        (OPENAI, DOCUMENT_TOKENS, user({"type": "file", "file": {"file_id": "f1"}})),
        (OPENAI, 0, asks("a", "b", content="t")),
        (OPENAI, 0, {"role": "assistant", "audio": {"id": "a"}}),
    ],
)
def test_all_else_counts_as_its_text(dialect: Dialect, fixed: int, message: Json) -> None:
    """Without payload data the text is the message's compact JSON, its keys in their order."""
    weight = dialect.weight(message)
    assert weight.text == json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    assert weight.fixed == fixed


@pytest.mark.parametrize(
    ("data", "pages"),
    [
        (pdf(b"<< /Type /Pages /Count 3 >>", *[b"<< /Type /Page /Parent 1 0 R >>"] * 3), 3),
        (pdf(b"<</Type/Page>>", b"<</Type/PageLabels>>"), 1),
        (pdf(b"<< /Linearized 1 /L 7945 /N 12 /T 7721 >>"), 12),
        (pdf(b"compressed"), 1),
        ("JVBERi0x!", 1),
        ("JVBERi0x\u00e9", 1),
        ("not a pdf", 1),
    ],
    ids=["pages", "page labels", "linearized", "unknown", "cut", "no base64", "no pdf"],
)
def test_a_document_costs_each_page_that_can_be_seen(data: str, pages: int) -> None:
    """A long PDF weighs more; one whose pages can't be told weighs as one."""
    anthropic = user({"type": "document", "source": source(data)})
    openai = user({"type": "file", "file": {"file_data": f"data:application/pdf;base64,{data}"}})
    assert ANTHROPIC.weight(anthropic).fixed == pages * DOCUMENT_TOKENS
    assert OPENAI.weight(openai).fixed == pages * DOCUMENT_TOKENS


@pytest.mark.parametrize("dialect", ALL, ids=lambda d: d.name)
@given(message=WILD)
def test_marks_weigh_nothing_and_the_message_stays(dialect: Dialect, message: Json) -> None:
    """The host's own marks are not sent; weighing leaves the message as it was."""
    bare = {key: value for key, value in message.items() if key != "ebbtide"}
    before = copy.deepcopy(message)
    assert dialect.weight({**bare, "ebbtide": {"pinned": True}}) == dialect.weight(bare)
    dialect.weight(message)
    assert message == before


def test_lone_surrogates_are_counted_as_the_replacement_character() -> None:
    """A tokenizer gets text that it can encode."""
    for dialect in ALL:
        assert "a\ufffdb" in dialect.weight(user("a\ud83db")).text


def test_many_images_add_up() -> None:
    """Forty-five screenshots are seen before they overflow a window."""
    shots = [user({"type": "image", "source": source("A" * 1_000)}, text(f"shot {i}")) for i in range(45)]
    assert sum(ANTHROPIC.weight(shot).fixed for shot in shots) == 45 * IMAGE_TOKENS
