"""Where to cut: what a compaction keeps as it is."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core import swap
from ebbtide_core.budget.boundary import Cut
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.policy import Policy, limits
from ebbtide_core.summary.model import MAX_REQUEST_CHARS
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    cut,
    figures,
    marked,
    result,
    system,
    text,
    user,
)
from tests.laws.world import World

OVER_CAP = "please " * (MAX_REQUEST_CHARS // 7 + 1)


def rounds(first: int, stop: int) -> list[dict[str, Any]]:
    """So many tool rounds of 400 bytes or so."""
    return [
        message
        for n in range(first, stop)
        for message in (
            assistant(text(f"step {n}"), call(f"t{n}", path=f"src/f{n}.py")),
            user(result(f"t{n}", f"line {n} " * 40)),
        )
    ]


def index(found: Cut | None) -> int | None:
    """Where it was cut, None without a cut."""
    return None if found is None else found.index


TALK = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]


@pytest.mark.parametrize(
    ("keep_tokens", "keep_messages", "soft", "expected"),
    [
        (0, 1, 70_000, 4),
        (0, 3, 70_000, 2),
        (30, 1, 70_000, 2),
        (39, 1, 70_000, 2),
        (40, 1, 70_000, 1),
        (0, 4, 70_000, 1),
        (0, 5, 70_000, None),
        (50, 1, 70_000, None),
        (0, 4, 139, 2),
        (50, 4, 120, 3),
        (50, 4, 50, 4),
        (50, 4, 10, 4),
    ],
)
def test_the_tail_grows_from_the_newest_back(
    keep_tokens: int, keep_messages: int, soft: int, expected: int | None
) -> None:
    """While it is below its tokens or its messages, as far as it fits below soft beside a summary of 100; the
    newest exchange stays in any case, and where nothing is left before the tail there is no cut."""
    limits_ = figures(soft=soft, keep_tokens=keep_tokens, keep_messages=keep_messages)
    assert index(cut(TALK, limits_)) == expected


def test_what_is_outside_the_messages_takes_room_from_the_tail() -> None:
    """System, tools and output count against soft, as do system messages among the messages."""
    wide = figures(soft=150, keep_tokens=50)
    assert index(cut(TALK, wide, outside=0)) is None
    assert index(cut(TALK, wide, outside=20)) == 2
    assert index(cut([system("s"), *TALK], wide, each=[20, 10, 10, 10, 10, 10])) == 3


BATCH = [
    user("go"),
    asks("a", "b", "c"),
    answers("a"),
    answers("b"),
    answers("c"),
    {"role": "assistant", "content": "ok"},
    user("next"),
]


REMARK = [
    user("start"),
    assistant(call("t1")),
    user(result("t1", is_error=True), text("and remember: port 8443")),
]


@pytest.mark.parametrize(
    ("messages", "dialect", "keep", "expected"),
    [
        (
            [user("fix"), assistant(call("t")), user(result("t")), assistant("done"), user("thx")],
            ANTHROPIC,
            3,
            1,
        ),
        (BATCH, OPENAI, 4, 1),
        (BATCH, OPENAI, 3, 1),
        (BATCH, OPENAI, 2, 5),
        (
            [user("go"), assistant(call("a"), call("b")), user(result("a")), user(result("b"))],
            ANTHROPIC,
            1,
            1,
        ),
        ([user("go"), asks("a"), asks("b"), answers("a"), answers("b"), user("and?")], OPENAI, 2, 1),
        ([user("go"), asks("a"), asks("b"), answers("a"), answers("b"), user("and?")], OPENAI, 1, 5),
        ([*REMARK, assistant("noted"), user("continue")], ANTHROPIC, 2, 3),
        ([*REMARK, assistant("noted"), user("continue")], ANTHROPIC, 3, 1),
        (
            [
                system("sys"),
                user("q"),
                asks("a"),
                answers("a"),
                {"role": "assistant", "content": "x"},
                user("q2"),
            ],
            OPENAI,
            3,
            2,
        ),
    ],
)
def test_the_cut_stands_between_exchanges(
    messages: list[Any], dialect: Dialect, keep: int, expected: int
) -> None:
    """A call and all its results stay together or leave together, however many messages are wished for."""
    assert index(cut(messages, figures(keep_messages=keep), dialect=dialect)) == expected


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("only")],
        [system("s"), user("only")],
        [user("go"), assistant(call("t1")), user(result("t1", "short"))],
        [marked(user("e"), ephemeral=True), user("only")],
        [marked(user("i"), internal=True)],
        [system("s"), marked(user("e"), ephemeral=True)],
        [marked(user("keep"), pinned=True), user("only")],
    ],
)
def test_without_anything_new_before_the_tail_there_is_no_cut(messages: list[Any]) -> None:
    """Short histories, and such as hold nothing that may go."""
    assert cut(messages, figures(keep_tokens=30)) is None


def test_the_newest_real_exchange_stays_however_large() -> None:
    """Even where it leaves no room for anything."""
    messages = [user("go"), assistant(call("t1")), user(result("t1", "huge"))]
    assert index(cut(messages, figures(soft=100), each=[10, 10, 90_000])) == 1


@pytest.mark.parametrize(
    "after",
    [
        [marked(user("poke"), internal=True)],
        [marked(user("date"), ephemeral=True)],
        [system("brief")],
        [marked(user("poke"), internal=True), marked(assistant("poked"), internal=True)],
    ],
)
def test_internal_and_outside_messages_are_no_anchor(after: list[Any]) -> None:
    """What a host adds for itself does not push the newest real exchange out of the tail."""
    messages = [user("a"), assistant("b"), user("real"), *after]
    assert index(cut(messages, figures(soft=1))) == 2


def test_open_calls_stay_in_the_tail() -> None:
    """Even with a newer real message between: their results can still come."""
    parallel = [user("go"), assistant("hm"), asks("a"), asks("b")]
    assert index(cut(parallel, figures(), dialect=OPENAI)) == 2


def test_an_abandoned_call_may_go() -> None:
    """Nobody answers it any more."""
    messages = [user("go"), assistant(call("t1")), user("never mind"), assistant("ok"), user("next")]
    found = cut(messages, figures())
    assert index(found) == 4


def test_pinned_messages_are_carried_with_their_exchange() -> None:
    """One half pinned keeps the other; they stand in order, by their lineage index."""
    messages = [
        system("s"),
        user("go"),
        assistant(call("t1")),
        marked(user(result("t1")), pinned=True),
        assistant("hm"),
        user("next"),
    ]
    found = cut(messages, figures())
    assert found is not None
    assert (found.index, found.kept) == (5, (2, 3))
    assert [c.index for c in found.carried] == [1, 2]
    assert found.position.count == 4
    assert found.new_tokens == 20


def test_an_ephemeral_half_keeps_the_other_half() -> None:
    """It is never summarised, so what it is tied to by a call is carried."""
    messages = [user("go"), assistant(call("t1")), marked(user(result("t1")), ephemeral=True), user("next")]
    found = cut(messages, figures())
    assert found is not None
    assert (found.index, found.kept) == (3, (1, 2))
    assert [c.index for c in found.carried] == [1]


def test_an_ephemeral_message_by_itself_stays_and_carries_nothing() -> None:
    """It is outside the lineage."""
    messages = [user("go"), marked(user("date"), ephemeral=True), assistant("hm"), user("next")]
    found = cut(messages, figures())
    assert found is not None
    assert (found.kept, found.carried, found.position.count) == ((1,), (), 2)


def test_a_request_over_the_cap_is_carried_while_it_is_active_and_fits() -> None:
    """A summary could not quote it whole; a newer request takes its place."""
    old = [user(OVER_CAP), assistant("b"), assistant("c")]
    found = cut(old, figures())
    assert found is not None
    assert [c.index for c in found.carried] == [0]
    newer = cut([*old, user("else")], figures())
    assert newer is not None
    assert newer.carried == ()
    crowded = cut(old, figures(soft=200), each=[150, 10, 10])
    assert crowded is not None
    assert crowded.carried == ()
    short = cut([user("x" * MAX_REQUEST_CHARS), assistant("b"), assistant("c")], figures())
    assert short is not None
    assert short.carried == ()


def test_what_is_no_longer_pinned_is_released() -> None:
    """The next record summarises it, and says so; cutting only what was carried is nothing new."""
    world = World("anthropic", figures(), 0)
    messages = [user("go"), marked(user("rule"), pinned=True), assistant("b"), user("next")]
    buffer = world.read(messages)
    first = world.cut(buffer)
    assert first is not None
    swapped = list(swap.apply(world.record(buffer, first), buffer).messages)
    freed = [user("rule") if m is messages[1] else m for m in swapped]
    assert world.cut(world.read(freed)) is None
    later = world.cut(world.read([*freed, assistant("c"), user("more")]))
    assert later is not None
    assert (later.carried, later.released) == ((), first.carried)


def test_a_session_of_one_request_and_300_tool_rounds_is_cut_in_its_middle() -> None:
    """Between two rounds, with the tail that the defaults ask for."""
    messages = [user("Port the build."), *rounds(0, 300)]
    figures_ = limits(Policy(), 32_000)
    found = cut(messages, figures_, each=100)
    assert found is not None
    assert found.index % 2 == 1
    assert (len(messages) - found.index) * 100 == pytest.approx(figures_.keep_recent_tokens, abs=200)
    assert found.carried == ()


@pytest.mark.parametrize("request_", ["Port the build.\nNever touch `main`!", OVER_CAP + " end"])
def test_the_one_request_survives_compaction_after_compaction(request_: str) -> None:
    """Verbatim: quoted in the summary, or carried when it is over the cap."""
    world = World("anthropic", limits(Policy(), 16_000), 1_000)
    kept: list[Any] = [user(request_)]
    swaps = 0
    for n in range(0, 300, 5):
        kept += rounds(n, n + 5)
        buffer = world.read(kept)
        if sum(world.tokens(buffer)) + world.outside < world.limits.soft:
            continue
        found = world.cut(buffer)
        assert found is not None
        swaps += 1
        kept = list(swap.apply(world.record(buffer, found, swaps), buffer).messages)
        again = world.read(kept)
        assert sum(world.tokens(again)) + world.outside < world.limits.soft
        assert again.summary is not None
        quoted = again.summary.summary.active_request == request_
        assert quoted or any(m.get("content") == request_ for m in kept)
    assert swaps >= 3
