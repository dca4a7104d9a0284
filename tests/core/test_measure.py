"""The projected size of the next request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from anthropic.types import Usage

from ebbtide_core.budget.measure import (
    CLAUDE_PRIOR,
    RATIO_MAX,
    RATIO_MIN,
    Parts,
    Projection,
    clamped,
    prior_ratio,
    project,
    prompt_tokens,
    running_ratio,
    scaled,
)
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.errors import InputError
from ebbtide_core.policy import IMAGE_TOKENS, Policy, limits
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    image,
    marked,
    reading,
    result,
    text,
    user,
)


@dataclass
class Counting:
    """A tokenizer that counts how often it is asked: one token a character."""

    name: str = "counting"
    calls: int = 0

    def count(self, words: str) -> int:
        """Return the number of characters."""
        self.calls += 1
        return len(words)


def counted(messages: list[Any], dialect: Dialect = ANTHROPIC) -> list[int]:
    """The real count of each message."""
    return Sizes(Meter(tokenizer(), dialect), reading(messages, dialect)).each()


def test_images_count_a_fixed_amount_each() -> None:
    """Neither nothing nor their base64: 45 of them cross the watermark of a window of 50,000."""
    messages = [m for i in range(45) for m in (user(image(1_000), text(f"shot {i}")), assistant("seen"))]
    sizes = counted(messages)
    assert all(IMAGE_TOKENS < size < IMAGE_TOKENS + 100 for size in sizes[::2])
    meter = Meter(tokenizer(), ANTHROPIC)
    found = project(Sizes(meter, reading(messages)), Parts(), 1.0, limits(Policy(), 50_000).soft)
    assert found.exact
    assert found.total > 0.95 * 50_000
    assert counted([user(image(400_000))]) == counted([user(image(4))])


@pytest.mark.parametrize(
    ("light", "heavy"),
    [
        (user(result("t1")), user(result("t1", [text("r " * 4_000)]))),
        (user(result("t1")), user(result("t1", "r " * 4_000))),
        (assistant(call("t1")), assistant(call("t1", blob="z " * 4_000))),
        (assistant(call("t1")), assistant(call("t1", tool="name " * 4_000))),
        (user("hi"), user({"type": "later", "body": "w " * 4_000})),
        (assistant("hi"), assistant({"type": "thinking", "thinking": "t " * 4_000, "signature": "s"})),
    ],
)
def test_whatever_a_message_holds_adds_to_its_count(light: Any, heavy: Any) -> None:
    """List-shaped results, inputs, names, thinking and unknown blocks too."""
    assert counted([heavy])[0] > counted([light])[0] + 3_000


def test_chat_calls_and_results_add_to_the_count() -> None:
    """Arguments beside the content, results as parts."""
    heavy = asks("a")
    heavy["tool_calls"][0] = {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "z " * 4_000},
    }
    assert counted([heavy], OPENAI)[0] > 3_000
    assert counted([answers("a", [text("r " * 4_000)])], OPENAI)[0] > 3_000


def test_system_and_tools_add_to_the_count() -> None:
    """A string, blocks and schemas; None and empty ones nothing."""
    meter = Meter(tokenizer(), ANTHROPIC)
    tools = [{"name": "bash", "input_schema": {"type": "object", "properties": {"cmd": {"type": "string"}}}}]
    assert meter.value_tokens("word " * 100, "system") >= 100
    assert meter.value_tokens([text("word " * 100)], "system") >= 100
    assert meter.value_tokens(tools, "tools") > 10
    nothing: tuple[Any, ...] = (None, "", [])
    assert [meter.value_tokens(value, "tools") for value in nothing] == [0, 0, 0]
    with pytest.raises(InputError, match="object is not JSON") as raised:
        meter.value_tokens([{"name": object()}], "tools")
    assert raised.value.path == "tools[0].name"


def test_system_and_tools_are_counted_again_only_when_they_changed() -> None:
    """Equal ones are known, also as copies; a list changed in place is noticed."""
    tokens = Counting()
    meter = Meter(tokens, ANTHROPIC)
    tools = [{"name": "bash"}]
    first = [meter.value_tokens("be kind", "system"), meter.value_tokens(tools, "tools")]
    assert [meter.value_tokens("be kind", "system"), meter.value_tokens([{"name": "bash"}], "tools")] == first
    assert tokens.calls == 2
    tools[0]["name"] = "bash and more"
    assert meter.value_tokens(tools, "tools") > first[1]
    assert meter.value_tokens("be kind and brief", "system") > first[0]
    assert tokens.calls == 4


class Stubborn:
    """A tool's schema whose own comparison fails."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def to_dict(self) -> dict[str, str]:
        """What it stands for."""
        return {"name": "bash"}


def test_tools_that_cannot_be_compared_are_counted_anew() -> None:
    """A foreign object's own error is none of the turn's."""
    tokens = Counting()
    meter = Meter(tokens, ANTHROPIC)
    first = meter.value_tokens([{"name": "bash"}], "tools")
    assert [meter.value_tokens([Stubborn()], "tools") for _ in range(2)] == [first, first]
    assert tokens.calls == 3


def test_what_looks_like_a_special_token_is_text() -> None:
    """Asking about one must not end the session."""
    messages = [
        user("why does my file end in <|endoftext|> and <|im_start|>?"),
        assistant("Because"),
        user("ok"),
    ]
    assert all(size > 0 for size in counted(messages))


def test_lone_surrogates_can_be_counted() -> None:
    """In messages and in the system prompt."""
    assert counted([user("a\ud83d" * 50)])[0] > 50
    assert Meter(tokenizer(), ANTHROPIC).value_tokens("a\ud83d" * 50, "system") > 50


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 38_196,
                "prompt_tokens_details": {"cached_tokens": 38_153},
                "completion_tokens": 200,
            },
            38_196,
        ),
        ({"input_tokens": 43, "cache_read_input_tokens": 38_153, "cache_creation_input_tokens": 0}, 38_196),
        ({"input_tokens": 10, "cache_read_input_tokens": None, "cache_creation_input_tokens": 5}, 15),
        (Usage(input_tokens=43, output_tokens=200, cache_read_input_tokens=38_153), 38_196),
        ({"input_tokens": 43, "iterations": [{"type": "message", "input_tokens": 43}]}, 43),
        ({"input_tokens": 43, "iterations": [{"type": "compaction"}, {"type": "message"}]}, 0),
        ({}, 0),
        (None, 0),
        ("many", 0),
        (object(), 0),
        ({"prompt_tokens": None}, 0),
        ({"prompt_tokens": True}, 0),
        ({"prompt_tokens": -5}, 0),
        ({"prompt_tokens": "12"}, 0),
    ],
)
def test_cached_tokens_count_once(usage: Any, expected: int) -> None:
    """Chat's total includes them, the Messages API's does not; unknown shapes give nothing."""
    assert prompt_tokens(usage) == expected


def test_a_huge_result_counts_before_any_usage_is_reported() -> None:
    """The estimate is of all that will be sent, whatever the last usage was."""
    buffer = reading([user("go"), assistant(call("t1")), user(result("t1", "word " * 160_000))])
    found = project(
        Sizes(Meter(tokenizer(), ANTHROPIC), buffer), Parts(), 1.0, limits(Policy(), 200_000).soft
    )
    assert found.total > 140_000


def test_a_projection_adds_output_and_what_is_still_to_come() -> None:
    """Ratio for what was counted, not for what is already in the model's tokens."""
    meter = Meter(Counting(), ANTHROPIC)
    buffer = reading([user("x" * 1_000)])
    size = meter.tokens(buffer.entries[0], buffer.passed[0])
    parts = Parts(system_tokens=100, tools_tokens=50, max_tokens=400, pending_tokens=30)
    found = project(Sizes(meter, buffer), parts, 1.3, soft=10)
    assert found == Projection(view=scaled(size, 1.3), outside=195 + 430, counted=size + 150)
    assert found.total == found.view + 625


def test_the_tokenizer_is_not_asked_while_no_watermark_is_in_reach() -> None:
    """One token a byte is an upper bound; each message is counted at most once."""
    tokens = Counting()
    meter = Meter(tokens, ANTHROPIC)
    messages = [user("x" * 100) for _ in range(10)]
    buffer = reading(messages)
    bound = sum(entry.size + entry.fixed + 1 for entry in buffer.entries)
    rough = project(Sizes(meter, buffer), Parts(), 1.0, soft=bound + 1)
    assert (tokens.calls, rough.exact) == (0, False)
    assert 0 < rough.total <= bound
    exact = project(Sizes(meter, buffer), Parts(), 1.0, soft=bound)
    assert (tokens.calls, exact.exact) == (1, True)
    project(Sizes(meter, reading([*messages, user("y" * 50)])), Parts(), 1.0, soft=1)
    assert tokens.calls == 2


def test_images_count_in_the_bound_too() -> None:
    """A buffer of images alone reaches a watermark without any text."""
    tokens = Counting()
    buffer = reading([user(image(4)) for _ in range(5)])
    found = project(Sizes(Meter(tokens, ANTHROPIC), buffer), Parts(), 1.0, soft=5 * IMAGE_TOKENS)
    assert found.exact
    assert found.total >= 5 * IMAGE_TOKENS


def test_marks_cost_nothing() -> None:
    """They are not sent."""
    assert counted([marked(user("hi"), pinned=True)]) == counted([user("hi")])


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest counts are forgotten, and counted again."""
    monkeypatch.setattr("ebbtide_core.budget.meter.MEMO_ENTRIES", 3)
    tokens = Counting()
    meter = Meter(tokens, ANTHROPIC)
    buffer = reading([user(str(n)) for n in range(5)])
    for at in (0, 1, 2, 3, 4, 4, 0):
        meter.tokens(buffer.entries[at], buffer.passed[at])
    assert tokens.calls == 6


def test_ratios_start_at_a_prior_and_follow_what_is_reported() -> None:
    """Within 0.8 and 2, by a share of what each request shows."""
    assert prior_ratio("claude-sonnet-5-5") == prior_ratio("eu.anthropic.Claude-x") == CLAUDE_PRIOR
    assert prior_ratio("gpt-5") == 1.0
    assert [clamped(r) for r in (0.1, 1.5, 9.0)] == [RATIO_MIN, 1.5, RATIO_MAX]
    assert running_ratio(1.0, 1_500, 1_000) == pytest.approx(1.15)
    assert running_ratio(1.0, 900_000, 1_000) == pytest.approx(1.3)
    ratio = 1.0
    for _ in range(50):
        ratio = running_ratio(ratio, 1_400, 1_000)
    assert ratio == pytest.approx(1.4, abs=0.001)
    assert running_ratio(1.2, 0, 1_000) == running_ratio(1.2, 1_000, 0) == 1.2
