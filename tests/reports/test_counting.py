"""Sizes that were counted wrong: compactions that came far too late, far too early, or never."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide import Action, Reason
from ebbtide_core.budget.measure import Parts, project, prompt_tokens
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.base import Dialect
from tests.core.say import ANTHROPIC, assistant, call, image, reading, result, text, user
from tests.host.conftest import MakeHost

Json = dict[str, Any]

TOTAL = 38_196
OF_CHAT = {
    "prompt_tokens": TOTAL,
    "prompt_tokens_details": {"cached_tokens": 38_153},
    "completion_tokens": 200,
}
OF_MESSAGES = {
    "input_tokens": 43,
    "cache_read_input_tokens": 38_153,
    "cache_creation_input_tokens": 0,
    "output_tokens": 200,
}


def projected(messages: list[Json], parts: Parts | None = None, dialect: Dialect = ANTHROPIC) -> int:
    """The size of the request, counted exactly."""
    sizes = Sizes(Meter(tokenizer(), dialect), reading(messages, dialect))
    return project(sizes, parts or Parts(), 1.0, soft=0).total


def test_images_counted_as_nothing_overflow_before_a_compaction_begins(make_host: MakeHost) -> None:
    """Forty-five screenshots in a window of 50,000 passed for a few words."""
    messages = [m for i in range(45) for m in (user(image(1_000), text(f"shot {i}")), assistant("seen"))]
    messages.append(user("so?"))
    assert projected([user(image(1_000))]) > 1_000
    turn = make_host(window=50_000, model="claude-test").prepare(messages)
    assert turn.report.projected > turn.report.hard
    assert turn.report.action is Action.DEGRADE
    assert turn.report.sent <= turn.report.hard


@pytest.mark.parametrize(
    ("light", "heavy"),
    [
        (result("t1"), result("t1", "r " * 4_000)),
        (result("t1"), result("t1", [text("r " * 4_000)])),
        (result("t1"), result("t1", [text("r"), image(10)])),
        (call("t1"), call("t1", blob="z " * 4_000)),
        (call("t1"), call("t1", tool="b" * 4_000)),
    ],
)
def test_only_plain_texts_are_counted(light: Json, heavy: Json) -> None:
    """Results in lists, the arguments and names of calls were worth nothing, and the window overflowed."""
    assert projected([user("go"), assistant(heavy)]) > projected([user("go"), assistant(light)]) + 400


def test_system_and_tools_are_not_counted(make_host: MakeHost) -> None:
    """A request of small messages under a large prompt and many tools was never compacted."""
    messages = [m for i in range(9) for m in (user(f"q{i} " + "word " * 50), assistant("a " * 50))]
    messages.append(user("so?"))
    tools = [{"name": f"tool_{i}", "input_schema": {"description": "word " * 300}} for i in range(9)]
    host = make_host(window=9_000)
    assert host.prepare(messages, max_tokens=100).report.reason is Reason.BELOW_SOFT
    both = host.prepare(messages, system="word " * 3_000, tools=tools, max_tokens=100)
    assert both.report.projected > both.report.soft


def test_cached_tokens_are_added_to_a_total_that_holds_them(make_host: MakeHost) -> None:
    """One provider's total includes what was cached, the other's does not: both mean the same prompt, and
    neither makes a request of 38,000 tokens pass a watermark of 70,000."""
    assert prompt_tokens(OF_CHAT) == prompt_tokens(OF_MESSAGES) == TOTAL
    messages = [user("word " * TOTAL)]
    for usage in (OF_CHAT, OF_MESSAGES):
        host = make_host(window=100_000)
        before = host.prepare(messages, max_tokens=100).report
        for _ in range(10):
            host.observe(usage)
            after = host.prepare(messages, max_tokens=100).report
        assert abs(after.projected - before.projected) < 0.02 * before.projected
        assert after.reason is Reason.BELOW_SOFT


def test_a_usage_reported_before_a_huge_result_hides_it(make_host: MakeHost) -> None:
    """What was reported knows nothing of the result that came since; all of it is counted."""
    host = make_host(window=200_000, model="claude-test")
    messages = [user("word " * 60_000), assistant(call("t1"))]
    host.prepare(messages)
    host.observe({"prompt_tokens": 60_000, "completion_tokens": 50})
    report = host.prepare([*messages, user(result("t1", "x y z " * 133_000))]).report
    assert report.projected > report.hard
    assert report.degraded
    assert report.sent <= report.hard


def test_the_name_of_a_special_token_ends_the_session(make_host: MakeHost) -> None:
    """The tokenizer raised on the literal text, at this turn and every later one. It is ordinary text."""
    messages = [
        user("why does my file end in <|endoftext|> and <|im_start|>?"),
        assistant("Because <|endoftext|> " * 2_000),
        user("ok"),
    ]
    turn = make_host().prepare(messages, system="say <|endoftext|>", max_tokens=1)
    assert turn.report.projected > 2_000
    assert turn.report.exact
    assert turn.buffer == messages
