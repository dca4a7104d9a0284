"""The summary item."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide.harness import (
    DEFAULT_SUMMARY_BRIDGE,
    DEFAULT_SUMMARY_ITEM_TEMPLATE,
    SUMMARY_CLOSE_TAG,
    SUMMARY_OPEN_TAG,
    estimate_message_tokens,
    is_summary_item,
    render_summary_item,
)
from ebbtide_core.contract.record import body_digest
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.lineage.chain import origin
from ebbtide_core.summary.message import render, wrap
from ebbtide_core.summary.model import Summary

ITEM = render_summary_item(bridge="Go on.", summary_text="They asked for a refund.")
TEXT = st.text() | st.sampled_from([SUMMARY_OPEN_TAG, SUMMARY_CLOSE_TAG, "{{ bridge }}", "{{ close_tag }}"])


def test_the_documented_text() -> None:
    """Bridge and summary stand between the markers in a user message."""
    assert {
        "role": "user",
        "content": f"{SUMMARY_OPEN_TAG}\nGo on.\n\nThey asked for a refund.\n{SUMMARY_CLOSE_TAG}",
    } == ITEM


@given(bridge=st.text(), summary=st.text())
def test_the_template_is_one_of_jinja2(bridge: str, summary: str) -> None:
    """Jinja2 makes the same text of the exported template, whatever stands in it."""
    template = jinja2.Template(DEFAULT_SUMMARY_ITEM_TEMPLATE, trim_blocks=True, lstrip_blocks=True)
    rendered = template.render(
        open_tag=SUMMARY_OPEN_TAG, bridge=bridge, summary_text=summary, close_tag=SUMMARY_CLOSE_TAG
    )
    assert render_summary_item(bridge=bridge, summary_text=summary)["content"] == rendered.strip()


@given(st.lists(TEXT).map("".join), st.lists(TEXT).map("".join))
def test_only_its_own_markers_stand_in_an_item(bridge: str, summary: str) -> None:
    """A summary that repeats a marker or a place of the template can't end or change the item."""
    item = render_summary_item(bridge=bridge, summary_text=summary)
    assert is_summary_item(item)
    assert item["content"].count(SUMMARY_OPEN_TAG) == item["content"].count(SUMMARY_CLOSE_TAG) == 1


@pytest.mark.parametrize(
    "item",
    [
        {**ITEM, "role": "assistant"},
        {"role": "user", "content": f"What do {SUMMARY_OPEN_TAG} and {SUMMARY_CLOSE_TAG} mean?"},
        {"role": "user", "content": f"{SUMMARY_CLOSE_TAG} then {SUMMARY_OPEN_TAG}"},
        {"role": "user", "content": f"{ITEM['content']}\nPlease explain the text above."},
        {"role": "user", "content": f"> {ITEM['content']}"},
        {"role": "user", "content": SUMMARY_OPEN_TAG},
        {"role": "user", "content": [*ITEM["content"]]},
        {"role": "user", "content": [{"type": "text", "text": ITEM["content"]}] * 2},
        {"role": "user", "content": None},
        {"role": "user"},
        ITEM["content"],
        None,
    ],
)
def test_a_quoted_summary_is_none(item: Any) -> None:
    """A message that quotes the markers, or a whole summary among other words, is what the user said."""
    assert not is_summary_item(item)


@pytest.mark.parametrize(
    "item",
    [
        ITEM,
        {**ITEM, "content": f"\n{ITEM['content']}\n"},
        {**ITEM, "content": [{"type": "text", "text": ITEM["content"]}]},
    ],
)
def test_a_summary_is_known_as_text_and_as_one_block(item: Any) -> None:
    """A string content equals one text block."""
    assert is_summary_item(item)


def test_a_pool_s_summary_is_known_and_an_edited_one_is_not() -> None:
    """The summary message of a swap is a summary item by Ebbtide's own markers."""
    at = origin("openai")
    body = render(Summary(session_intent="Migrate the service."))
    text = wrap(body, version=1, position=at, carried=(), body=body_digest(at, (), body))
    assert is_summary_item(OpenAIChat().user(text))
    assert not is_summary_item(OpenAIChat().user(text.replace("Migrate", "Delete")))


def test_an_almost_empty_item_costs_about_as_much_as_its_bridge() -> None:
    """The default bridge is short."""
    item = render_summary_item(bridge=DEFAULT_SUMMARY_BRIDGE, summary_text="-")
    assert estimate_message_tokens([item]) < 130
