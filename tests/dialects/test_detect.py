"""The dialect of a model's name, and by its own name."""

from __future__ import annotations

import pytest

from ebbtide_core.dialects.detect import by_name, for_model
from ebbtide_core.errors import InputError


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-5-5", "anthropic"),
        ("Claude-Opus-5-5", "anthropic"),
        ("anthropic/claude-opus-5-5", "anthropic"),
        ("anthropic:claude-opus-5-5", "anthropic"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic"),
        ("bedrock/eu.anthropic.claude-haiku-4-5", "anthropic"),
        ("bedrock:global.anthropic.claude-haiku-4-5", "anthropic"),
        ("openrouter/anthropic/claude-sonnet-5", "anthropic"),
        ("vertex_ai/claude-sonnet-5@20260101", "anthropic"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-5", "anthropic"),
        ("gpt-5", "openai"),
        ("openai/gpt-5", "openai"),
        ("meta.llama3-70b", "openai"),
        ("ft:gpt-5:acme:claude-like:1", "openai"),
        ("not-claude", "openai"),
        ("", "openai"),
    ],
)
def test_the_dialect_of_a_model(model: str, expected: str) -> None:
    """Claude models speak Messages behind any vendor's prefix, all others Chat Completions."""
    assert for_model(model).name == expected


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai_responses"])
def test_a_dialect_is_found_by_its_name(name: str) -> None:
    """A manifest names its dialect."""
    assert by_name(name).name == name


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The error says what may be written instead."""
    with pytest.raises(InputError, match="'gemini'; known are anthropic, openai, openai_responses"):
        by_name("gemini")
