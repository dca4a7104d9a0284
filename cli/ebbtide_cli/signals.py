"""What SIGTERM, SIGHUP and Ctrl-C do to a command: they end it in order, as an exception in the main
thread."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(BaseException):
    """The process was asked to end: release what is held; `code` is the exit code that says so."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__(signal.Signals(number).name)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """While inside, the first such signal raises Ended; further ones are ignored, so that clean-up runs
    through."""

    def ended(number: int, _: FrameType | None) -> None:
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise Ended(number)

    before = {number: signal.signal(number, ended) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
