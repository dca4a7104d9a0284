"""The provider's own settings behind us: right for the SDKs, and only at work where Ebbtide was not."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from anthropic import Anthropic
from anthropic.types.anthropic_beta_param import AnthropicBetaParam
from anthropic.types.beta import BetaClearToolUses20250919EditParam, BetaCompact20260112EditParam
from anthropic.types.beta.beta_context_management_config_param import Edit
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI
from openai.types.responses.response_create_params import ContextManagement
from pydantic import TypeAdapter

from ebbtide import AsyncPool, InputError, Pool
from ebbtide.backstop import Backstop, BackstopKind, backstop
from ebbtide_core.policy import Limits, Policy, limits
from tests.standin import StandIn
from tests.standin.fixture import standin

__all__ = ["standin"]

KINDS: tuple[BackstopKind, ...] = ("compaction", "tool_clearing")
TYPED: dict[BackstopKind, Any] = {
    "compaction": BetaCompact20260112EditParam,
    "tool_clearing": BetaClearToolUses20250919EditParam,
}
CURRENT = "claude-sonnet-5-5"
BELOW_LEAST = "no prompt below 50,000 tokens"


def of(window: int, max_tokens: int | None = None, **policy: Any) -> Limits:
    """Return the figures of a session."""
    return limits(Policy(**policy), window, max_tokens)


def edit_of(found: Backstop) -> dict[str, Any]:
    """Return the one edit of Anthropic's settings."""
    [edit] = found.kwargs["context_management"]["edits"]
    checked: dict[str, Any] = edit
    return checked


def trigger_of(found: Backstop) -> int:
    """Return the prompt tokens at which the settings act, of either provider."""
    managed = found.kwargs["context_management"]
    value = (
        managed[0]["compact_threshold"] if isinstance(managed, list) else edit_of(found)["trigger"]["value"]
    )
    assert isinstance(value, int)
    return value


def kind_of(found: Backstop) -> str:
    """Return the kind of Anthropic's edit."""
    return str(edit_of(found)["type"])


def test_anthropic_compacts_between_hard_and_the_window() -> None:
    """The API counts the prompt alone: what the request asks for as output is taken off."""
    found = backstop("anthropic", CURRENT, of(1_000_000))
    assert found.kwargs == {
        "betas": ["compact-2026-01-12"],
        "context_management": {
            "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 970_904}}]
        },
    }
    assert "970,904" in found.note
    assert trigger_of(backstop("anthropic", CURRENT, of(1_000_000, 64_000))) == 911_000


def test_tool_clearing_can_be_asked_for() -> None:
    """The newest tool results stay."""
    found = backstop("anthropic", CURRENT, of(200_000), "tool_clearing")
    assert found.kwargs["betas"] == ["context-management-2025-06-27"]
    assert edit_of(found) == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 190_904},
        "keep": {"type": "tool_uses", "value": 3},
    }


@pytest.mark.parametrize(
    ("window", "max_tokens", "kind"),
    [
        (32_000, None, "clear_tool_uses_20250919"),
        (54_000, 4_001, "clear_tool_uses_20250919"),
        (54_000, 4_000, "compact_20260112"),
        (60_000, None, "compact_20260112"),
    ],
)
def test_a_window_below_the_least_trigger_clears_tools(
    window: int, max_tokens: int | None, kind: str
) -> None:
    """A trigger of 50,000 would never be reached there; the note says why."""
    found = backstop("anthropic", CURRENT, of(window, max_tokens))
    assert kind_of(found) == kind
    assert (BELOW_LEAST in found.note) == (kind != "compact_20260112")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("claude-fable-5-1", "compact_20260112"),
        ("claude-mythos-preview", "compact_20260112"),
        ("claude-haiku-5-5", "compact_20260112"),
        ("claude-opus-4-6", "compact_20260112"),
        ("claude-opus-4-8-20260701", "compact_20260112"),
        ("claude-opus-4-12", "compact_20260112"),
        ("us.anthropic.claude-sonnet-4-6-v1:0", "compact_20260112"),
        ("claude-opus-7", "compact_20260112"),
        ("claude-haiku-4-5", "clear_tool_uses_20250919"),
        ("claude-opus-4-5-20251101", "clear_tool_uses_20250919"),
        ("claude-opus-4-20250514", "clear_tool_uses_20250919"),
        ("claude-sonnet-4@20250514", "clear_tool_uses_20250919"),
        ("anthropic/claude-sonnet-4.5", "clear_tool_uses_20250919"),
    ],
)
def test_a_model_without_compaction_clears_tools(model: str, kind: str) -> None:
    """Behind a vendor's prefix and with a date too; models to come are taken for able."""
    found = backstop("anthropic", model, of(200_000))
    assert kind_of(found) == kind
    assert ("does not compact" in found.note) == (kind != "compact_20260112")


@pytest.mark.parametrize(
    "model", ["claude-3-5-sonnet-20241022", "anthropic.claude-v2:1", "claude-instant-1.2"]
)
def test_old_models_have_no_net(model: str) -> None:
    """Nothing that the API would reject."""
    found = backstop("anthropic", model, of(200_000), "tool_clearing")
    assert found.kwargs == {}
    assert model in found.note


def test_responses_compact_at_a_threshold() -> None:
    """One entry, whichever kind was asked for."""
    for kind in KINDS:
        found = backstop("openai_responses", "gpt-6-sol", of(400_000), kind)
        assert found.kwargs == {"context_management": [{"type": "compaction", "compact_threshold": 385_904}]}
    tiny = backstop("openai_responses", "gpt-6-sol", of(1_200))
    assert tiny.kwargs == {}
    assert "1,000" in tiny.note


@pytest.mark.parametrize("dialect", ["openai", "someone's"])
def test_where_there_is_nothing_the_note_says_so(dialect: str) -> None:
    """Chat Completions has no context management of its own."""
    found = backstop(dialect, "gpt-6-sol", of(400_000))
    assert found.kwargs == {}
    assert dialect in found.note


def test_an_unknown_kind_is_an_error() -> None:
    """It names the two there are."""
    wrong: Any = "summary"
    with pytest.raises(InputError, match="neither compaction nor tool_clearing"):
        backstop("anthropic", CURRENT, of(200_000), wrong)


@given(
    window=st.integers(1_000, 2_000_000),
    output=st.floats(0, 0.4),
    hard=st.floats(0.71, 1.0),
    kind=st.sampled_from(KINDS),
    dialect=st.sampled_from(["anthropic", "openai_responses"]),
)
def test_the_net_hangs_between_hard_and_the_window(
    window: int, output: float, hard: float, kind: BackstopKind, dialect: str
) -> None:
    """A request that Ebbtide brought below hard never meets it; one that fills the window always does."""
    resolved = of(window, int(window * output), hard=hard)
    found = backstop(dialect, CURRENT, resolved, kind)
    if not found.kwargs:
        assert dialect == "openai_responses"
        assert window * (1 - output) < 1_200
        return
    reached = trigger_of(found) + resolved.max_tokens
    assert resolved.hard <= reached <= resolved.window
    assert resolved.hard < reached or resolved.hard == resolved.window


@pytest.mark.parametrize("kind", KINDS)
def test_anthropics_settings_are_what_its_sdk_types(kind: BackstopKind) -> None:
    """Types, and no field that they don't know; the header is one that the SDK lists."""
    found = backstop("anthropic", CURRENT, of(200_000), kind)
    edit, typed = edit_of(found), TYPED[kind]
    assert TypeAdapter(typed).validate_python(edit, extra="forbid") == edit
    assert typed in get_args(Edit)
    listed = {name for part in get_args(AnthropicBetaParam) for name in get_args(part)}
    assert set(found.kwargs["betas"]) <= listed


def test_openais_settings_are_what_its_sdk_types() -> None:
    """The entry's names are those of the typed dictionary."""
    [entry] = backstop("openai_responses", "gpt-6-sol", of(400_000)).kwargs["context_management"]
    assert entry.keys() == get_type_hints(ContextManagement).keys()


@pytest.mark.parametrize("kind", KINDS)
def test_the_anthropic_sdk_sends_them(standin: StandIn, kind: BackstopKind) -> None:
    """As they stand, with the header; the stand-in checks both."""
    found = backstop("anthropic", CURRENT, of(200_000), kind)
    with Anthropic(base_url=standin.url, api_key="k", max_retries=0) as client:
        client.beta.messages.create(
            model=CURRENT, max_tokens=100, messages=[{"role": "user", "content": "go"}], **found.kwargs
        )
    [entry] = standin.control.requests()
    assert entry["outcome"] == "good"
    assert entry["betas"] == found.kwargs["betas"]
    assert entry["body"]["context_management"] == found.kwargs["context_management"]


def test_the_openai_sdk_sends_them(standin: StandIn) -> None:
    """As they stand; the stand-in checks them."""
    found = backstop("openai_responses", "gpt-6-sol", of(400_000))
    with OpenAI(base_url=f"{standin.url}/v1", api_key="k", max_retries=0) as client:
        client.responses.create(model="gpt-6-sol", input="go", **found.kwargs)
        client.chat.completions.create(
            model="gpt-6-sol",
            messages=[{"role": "user", "content": "go"}],
            **backstop("openai", "gpt-6-sol", of(400_000)).kwargs,
        )
    managed, plain = standin.control.requests()
    assert (managed["outcome"], plain["outcome"]) == ("good", "good")
    assert managed["body"]["context_management"] == found.kwargs["context_management"]
    assert "context_management" not in plain["body"]


async def test_a_session_gives_its_own() -> None:
    """Dialect, model, window and policy are the session's, the output that of the requests; either shell."""
    said: dict[str, Any] = {
        "tenant": "acme",
        "session_id": "chat",
        "model": CURRENT,
        "context_window": 200_000,
    }
    policy = Policy(hard=0.9)
    with Pool("redis://localhost:1/0", policy=policy) as pool:
        sync = pool.session(**said).backstop(max_tokens=8_000)
    async with AsyncPool("redis://localhost:1/0", policy=policy) as other:
        twin = other.session(**said).backstop("compaction", max_tokens=8_000)
        said["model"] = "gpt-6-sol"
        chat = other.session(**said).backstop()
        items = other.session(**said, dialect="openai_responses").backstop()
    assert sync == twin == backstop("anthropic", CURRENT, of(200_000, 8_000, hard=0.9))
    assert chat.kwargs == {}
    assert items == backstop("openai_responses", "gpt-6-sol", of(200_000, hard=0.9))
