"""Views: the rungs of the degrade ladder and what each says of what it left out."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core import swap
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.policy import Limits
from ebbtide_core.summary.message import TITLE
from ebbtide_core.views.clip import LEAST_CHARS, clip, clipped
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.ladder import Degraded, degrade
from ebbtide_core.views.local import extractive
from ebbtide_core.views.truncate import truncated
from ebbtide_core.views.view import Rung, omission
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    figures,
    image,
    marked,
    reading,
    result,
    system,
    text,
    user,
)
from tests.laws.world import World


def world(limits: Limits, dialect: Dialect = ANTHROPIC, outside: int = 0) -> World:
    """A world of these limits; a token is three bytes."""
    return World(dialect.name, limits, outside)  # type: ignore[arg-type]


def degraded(messages: list[Any], limits: Limits, dialect: Dialect = ANTHROPIC, outside: int = 0) -> Degraded:
    """What the ladder makes of the messages."""
    w = world(limits, dialect, outside)
    buffer = w.read(messages)
    return degrade(w.ground(buffer), w.cut(buffer))


def ground(messages: list[Any], limits: Limits) -> Ground:
    """What a rung starts from."""
    w = world(limits)
    return w.ground(w.read(messages))


LONG = [
    m
    for n in range(40)
    for m in (assistant(text(f"step {n}"), call(f"t{n}")), user(result(f"t{n}", f"out {n} " * 60)))
]
SESSION = [user("Port the build. Never push to main."), *LONG, user("so?")]


def test_the_first_rung_that_fits_is_taken() -> None:
    """A local summary if it may be large enough; else head and tail; both with their notice."""
    wide = degraded(SESSION, figures(soft=2_000, hard=3_000, window=3_200, keep_tokens=1_000, summary=800))
    assert wide.fits
    assert wide.view is not None
    assert wide.view.rung is Rung.EXTRACTIVE
    first = wide.view.messages[0]
    assert first["role"] == "user"
    assert TITLE in first["content"]
    assert "Never push to main." in first["content"]
    assert f"[{wide.view.omitted[0].messages} earlier messages are left out" in first["content"]
    tight = wide.view.tokens - 1
    narrow = degraded(SESSION, figures(soft=2_000, hard=tight, window=3_200, keep_tokens=1_000, summary=800))
    assert narrow.view is not None
    assert narrow.view.rung is Rung.TRUNCATED
    assert narrow.fits


def test_head_and_tail_hold_request_first_exchange_and_the_newest() -> None:
    """The gap between has one notice; nothing beyond the room is kept."""
    view = truncated(ground(SESSION, figures(hard=1_500, window=2_000)))
    assert view is not None
    assert view.messages[0] is SESSION[0]
    assert "earlier messages of this conversation left out" in view.messages[1]["content"]
    assert list(view.messages[2:]) == SESSION[-len(view.messages) + 2 :]
    assert [gap.start for gap in view.omitted] == [1]
    assert 1_000 < view.tokens <= 1_500


def test_pinned_ephemeral_and_system_messages_are_in_every_view() -> None:
    """With the other half of their exchange; each gap between them has a notice of its own."""
    messages = [
        user("go"),
        *LONG[:10],
        system("be brief"),
        assistant(call("x")),
        marked(user(result("x", "rule")), pinned=True),
        *LONG[10:],
        marked(user("date"), ephemeral=True),
        user("so?"),
    ]
    w = world(figures(soft=300, hard=400, window=500, keep_tokens=10))
    for view in w.views(w.read(messages)):
        kept = [m for m in messages[11:14] if any(m is sent for sent in view.messages)]
        assert kept == messages[11:14]
        assert any(m is messages[-2] for m in view.messages)
        assert any(m is messages[-1] for m in view.messages)


def test_nothing_to_leave_out_gives_no_view() -> None:
    """One message that is no result can't be made smaller."""
    found = degraded([user("word " * 5_000)], figures(soft=100, hard=200, window=300))
    assert found == Degraded(None, fits=False)


def test_one_giant_result_keeps_head_and_tail_also_when_it_is_an_error() -> None:
    """Whatever its share of the window; call and result stay together."""
    giant = "HEAD" + "d" * 1_900_000 + "exit code 3"
    messages = [user("dump"), assistant(call("t1")), user(result("t1", giant, is_error=True))]
    found = degraded(messages, figures(window=50_000, soft=35_000, hard=47_000))
    assert found.fits
    assert found.view is not None
    assert found.view.rung is Rung.CLIPPED
    sent = found.view.messages[-1]["content"][0]
    assert sent["content"].startswith("HEAD")
    assert sent["content"].endswith("exit code 3")
    assert "characters of this tool result are left out" in sent["content"]
    assert sent["is_error"] is True
    assert found.view.messages[-2] is messages[1]
    assert 20_000 < found.view.tokens <= 47_000


def test_a_verdict_at_the_end_of_an_output_survives() -> None:
    """Clipping from the head alone would lose it."""
    output = "." * 60_000 + "\nFAILED test_x: expected 4 got 5"
    messages = [user("test"), assistant(call("t1")), user(result("t1", output))]
    found = degraded(messages, figures(window=5_000, soft=3_000, hard=4_500))
    assert found.view is not None
    assert "FAILED test_x: expected 4 got 5" in found.view.messages[-1]["content"][0]["content"]


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [
        (
            ANTHROPIC,
            [
                assistant(call("a"), call("b")),
                user(result("a", "x" * 9_000), result("b", [text("y" * 9_000)])),
            ],
        ),
        (OPENAI, [asks("a", "b"), answers("a", "x" * 9_000), answers("b", [text("y" * 9_000)])]),
    ],
)
def test_all_results_of_the_newest_exchange_are_clipped(dialect: Dialect, messages: list[Any]) -> None:
    """Parallel ones too, strings and lists of blocks; the messages themselves stay as they were."""
    before = repr(messages)
    found = degraded([user("go"), *messages], figures(window=3_000, soft=1_500, hard=2_000), dialect)
    assert found.view is not None
    assert (found.view.rung, found.fits) == (Rung.CLIPPED, True)
    sent = str(found.view.messages)
    assert sent.count("characters of this tool result are left out") == 2
    assert "xxx" in sent
    assert "yyy" in sent
    assert repr(messages) == before


def test_what_is_no_result_is_never_clipped() -> None:
    """The user's and the model's own words, arguments, and images stand whole or not at all."""
    messages = [
        user("go"),
        assistant(text("thinking aloud " * 300), call("t1", blob="z" * 5_000)),
        user(result("t1", "r" * 9_000), text("note " * 300), image(4_000)),
    ]
    view = clipped(ground(messages, figures(window=3_000, soft=1_500, hard=2_000)))
    assert view is not None
    assert view.messages[-2] is messages[1]
    assert view.messages[-1]["content"][1:] == messages[2]["content"][1:]


def test_a_message_object_used_twice_is_clipped_where_it_is_declared() -> None:
    """A host may append the same object again; only the newest exchange is clipped."""
    answer = marked(user(result("t1", "x" * 9_000)), pinned=True)
    messages = [user("go"), assistant(call("t1")), answer, assistant("hm"), assistant(call("t1")), answer]
    view = clipped(ground(messages, figures(window=9_000, soft=3_000, hard=5_000)))
    assert view is not None
    assert view.messages[2] is answer
    assert view.messages[-1] is not answer
    assert [(gap.start, gap.stop) for gap in view.omitted] == [(0, 1), (3, 4), (5, 6)]


def test_a_clipped_message_is_sent_without_marks_and_repaired() -> None:
    """It is no longer the buffer's own, so it is made ready to send."""
    answer = marked(user(result("t1", "\ud83d" + "x" * 9_000)), pinned=True)
    messages = [user("go"), assistant(call("t1")), answer]
    view = clipped(ground(messages, figures(window=900, soft=100, hard=500)))
    assert view is not None
    assert "ebbtide" not in view.messages[-1]
    assert view.messages[-1]["content"][0]["content"].startswith("\ufffdx")


def test_system_and_tail_over_the_window_end_in_one_definite_answer() -> None:
    """The smallest view is given, and that it does not fit; no view where a notice would be longer than what
    it stands for."""
    limits = figures(window=64_000, soft=45_000, hard=60_000)
    found = degraded([user("a " * 900), assistant("b"), user("c" * 50_000)], limits, outside=133_000)
    assert not found.fits
    assert found.view is not None
    assert len(found.view.messages) == 2
    tiny = [user("a"), assistant("b"), user("c" * 50_000)]
    assert degraded(tiny, limits, outside=133_000) == Degraded(None, fits=False)


def test_between_hard_and_window_the_smallest_view_still_goes() -> None:
    """Hard leaves a margin; a request that the window holds is better than none."""
    messages = [user("go"), assistant("b" * 300), user("c" * 3_000)]
    found = degraded(messages, figures(window=1_200, soft=500, hard=900))
    assert found.view is not None
    assert 900 < found.view.tokens <= 1_200
    assert found.fits


def test_a_buffer_that_swapped_keeps_its_summary_in_view() -> None:
    """Truncated as it is, extractive merged into the local summary."""
    w = world(figures(soft=2_000, hard=3_000, window=3_200, keep_tokens=300, summary=800))
    buffer = w.read(SESSION[:61])
    cut = w.cut(buffer)
    assert cut is not None
    record = w.record(buffer, cut)
    kept = [*swap.apply(record, buffer).messages, *SESSION[61:]]
    again = w.read(kept)
    short = truncated(ground(kept, figures(hard=1_000, window=1_200)))
    local = extractive(w.ground(again), w.cut(again))
    assert short is not None
    assert local is not None
    assert short.messages[0] is kept[0]
    assert "Never push to main." in local.messages[0]["content"]
    assert local.omitted[0].start == 0


@pytest.mark.parametrize("limit", [200, 201, 5_000])
def test_a_clip_keeps_head_and_tail(limit: int) -> None:
    """`limit` characters in all, and the number of those between."""
    words = "".join(chr(0x4E00 + n % 5_000) for n in range(6_000))
    short = clip(words, limit)
    head, _, rest = short.partition("\n[... ")
    number, _, tail = rest.partition(" characters of this tool result are left out ...]\n")
    assert len(head) + len(tail) == limit
    assert (words.startswith(head), words.endswith(tail)) == (True, True)
    assert int(number) == 6_000 - limit


def test_a_text_within_the_limit_is_not_clipped() -> None:
    """It comes back itself."""
    words = "x" * LEAST_CHARS
    assert clip(words, LEAST_CHARS) is words


def test_omissions_are_runs_of_what_is_gone() -> None:
    """System messages between don't break a run and don't count; another digest names other messages."""
    messages = [user("a"), system("s"), user("b"), user("c"), assistant("d"), user("a")]
    buffer: Buffer = reading(messages)
    found = omission(buffer, [5, 2, 0, 3])
    assert [(o.start, o.stop, o.messages) for o in found] == [(0, 4, 3), (5, 6, 1)]
    assert omission(buffer, []) == ()
    assert found[1].digest == omission(buffer, [0])[0].digest
    assert len({o.digest for o in (*found, *omission(buffer, [2]), *omission(buffer, [2, 3]))}) == 4
