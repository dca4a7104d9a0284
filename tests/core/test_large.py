"""A hundred thousand messages: work grows with their number, not with its square."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import pytest

from ebbtide_core import swap
from ebbtide_core.budget.measure import Parts, project
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.lineage.buffer import Entry, read
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.policy import MAX_BUFFER_MESSAGES, Policy, limits
from ebbtide_core.summary.model import Summary
from ebbtide_core.views.ladder import degrade
from tests.core.say import ANTHROPIC, assistant, call, marked, reading, result, system, user
from tests.laws.world import World

SMALL, LARGE = 250, 1_000
MARGIN = 1.5

History = Callable[[int], list[dict[str, Any]]]


def rounds(count: int) -> list[dict[str, Any]]:
    """A request and tool rounds, `count` messages in all."""
    said = [user("go")]
    while len(said) < count:
        n = len(said)
        said += [assistant(call(f"t{n % 7}", cmd=f"ls {n}")), user(result(f"t{n % 7}", f"out {n}"))]
    return said[:count]


def talk(count: int) -> list[dict[str, Any]]:
    """Words alone, `count` messages in all."""
    return [(user if n % 2 == 0 else assistant)(f"word {n}") for n in range(count)]


def littered(count: int, every: int = 10, among: History = rounds) -> list[dict[str, Any]]:
    """The same with pinned, ephemeral and system messages all over, and calls that nobody answers."""
    said = among(count)
    for n in range(0, count, every):
        said[n] = marked(user(f"rule {n}"), pinned=True)
        said[n + 1] = marked(user(f"date {n}"), ephemeral=True)
        said[n + 2] = system(f"now {n}")
        said[n + 3] = assistant(call("left"))
    return said


def calls(step: Callable[[], object]) -> int:
    """How many calls of Python and C functions a step makes."""
    made = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        step()
    finally:
        sys.setprofile(before)
    return made


def turn(world: World, messages: list[dict[str, Any]]) -> None:
    """All that a turn at hard does in the core."""
    buffer = world.read(messages)
    project(Sizes(world.meter, buffer), Parts(), 1.0, world.limits.soft)
    cut = world.cut(buffer)
    assert cut is not None
    swap.apply(world.record(buffer, cut), buffer)
    degrade(world.ground(buffer), cut)


@pytest.mark.parametrize("history", [rounds, littered])
def test_a_turn_s_work_grows_with_the_messages(history: History) -> None:
    """Four times the messages take about four times the calls; a quadratic step would take sixteen."""
    figures = limits(Policy(), 8_000)
    small = calls(lambda: turn(World("anthropic", figures, 0), history(SMALL)))
    large = calls(lambda: turn(World("anthropic", figures, 0), history(LARGE)))
    assert large < MARGIN * small * LARGE / SMALL


class Watched(Sequence[Entry]):
    """Entries that count how many of them were handed out, one by one or in slices."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.handed = 0

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, at: int) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Entry]: ...

    def __getitem__(self, at: int | slice) -> Entry | Sequence[Entry]:
        self.handed += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
        return self.entries[at]

    def __iter__(self) -> Iterator[Entry]:
        for entry in self.entries:
            self.handed += 1
            yield entry


@pytest.mark.parametrize(
    "history",
    [
        rounds,
        littered,
        lambda count: [assistant(call("left")) for _ in range(count)],
        lambda count: (
            [assistant(call(f"t{n}")) for n in range(count // 2)]
            + [user(result(f"t{n}")) for n in range(count // 2)]
        ),
    ],
    ids=["rounds", "littered", "never answered", "all answered at the end"],
)
def test_finding_exchanges_looks_at_each_message_a_few_times(
    history: History,
) -> None:
    """Also where no call was ever answered, or all of them at the very end."""
    watched = Watched(reading(history(LARGE)).entries)
    exchanges(watched)
    assert watched.handed < 10 * LARGE


def test_a_buffer_of_the_largest_size_goes_through() -> None:
    """Read, measured, cut and swapped in reasonable time; and read again as what it has become."""
    world = World("anthropic", limits(Policy(), 200_000), 0)
    messages = littered(MAX_BUFFER_MESSAGES, every=1_000, among=talk)
    buffer = world.read(messages)
    found = project(Sizes(world.meter, buffer), Parts(), 1.0, world.limits.soft)
    assert found.total > world.limits.hard
    cut = world.cut(buffer)
    assert cut is not None
    done = swap.apply(world.record(buffer, cut, summary=Summary(session_intent="go")), buffer)
    assert len(done.messages) + len(done.removed) == MAX_BUFFER_MESSAGES + 1
    assert read(done.messages, ANTHROPIC).chain.tip == buffer.chain.tip


def test_one_more_message_costs_one_more_reading() -> None:
    """The known ones are only looked at, once each, whether they are the same objects."""
    messages = rounds(5_000)
    known = reading(messages)
    grown = [*messages, user("more")]
    assert calls(lambda: read(grown, ANTHROPIC, known)) < len(messages) + 500
