"""Slots: bounded, given in the order in which jobs joined, never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ebbtide_worker.slots import Line, Slots


class Calls:
    """Calls that hold a slot until they are let go; `begun` names them in the order in which they began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._let: dict[str, asyncio.Event] = {}

    def call(self, name: str, line: Line) -> asyncio.Task[None]:
        """Begin a call that waits in a line."""
        self._let[name] = asyncio.Event()

        async def held() -> None:
            async with line:
                self.begun.append(name)
                await self._let[name].wait()

        return asyncio.create_task(held())

    def let(self, *names: str) -> None:
        """Let calls end."""
        for name in names:
            self._let[name].set()


async def settled() -> None:
    """Let all tasks run until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_calls_run_than_there_are_slots() -> None:
    """One that ends makes room for one."""
    slots, calls = Slots(2), Calls()
    line = slots.join()
    tasks = [calls.call(name, line) for name in "abcd"]
    await settled()
    assert calls.begun == ["a", "b"]
    calls.let("b")
    await settled()
    assert calls.begun == ["a", "b", "c"]
    calls.let("a", "c", "d")
    await asyncio.gather(*tasks)
    assert calls.begun == ["a", "b", "c", "d"]


async def test_a_free_slot_goes_to_the_job_that_joined_first() -> None:
    """Also when its call comes later, as a merge does; within a job, calls are served as they came."""
    slots, calls = Slots(1), Calls()
    first, second = slots.join(), slots.join()
    tasks = [calls.call(name, line) for name, line in (("1a", first), ("2a", second), ("2b", second))]
    await settled()
    tasks.append(calls.call("1b", first))
    calls.let("1a", "1b", "2a", "2b")
    await asyncio.gather(*tasks)
    assert calls.begun == ["1a", "1b", "2a", "2b"]


@pytest.mark.parametrize("given", [False, True], ids=["while it waits", "when it is given one"])
async def test_a_call_that_is_cancelled_leaves_its_slot_to_the_next(given: bool) -> None:
    """Whether it had been given one at that moment or not."""
    slots, calls = Slots(1), Calls()
    line = slots.join()
    holder, waiting, next_one = (calls.call(name, line) for name in "abc")
    await settled()
    if given:
        slots.release()
    waiting.cancel()
    await settled()
    assert waiting.cancelled()
    if not given:
        calls.let("a")
        await settled()
    assert calls.begun == ["a", "c"]
    calls.let("a", "c")
    await asyncio.gather(holder, next_one)


async def test_a_call_that_fails_gives_its_slot_back() -> None:
    """And when nobody waits, it is there for later."""
    slots = Slots(1)
    line = slots.join()

    async def failing(work: Callable[[], Awaitable[None]]) -> None:
        async with line:
            await work()

    async def fail() -> None:
        raise LookupError

    for _ in range(3):
        with pytest.raises(LookupError):
            await asyncio.wait_for(failing(fail), 5)
