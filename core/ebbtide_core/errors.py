"""Errors, shaped by who must act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class EbbtideError(Exception):
    """Base of every error that Ebbtide raises."""


class InputError(EbbtideError):
    """The host passed something that is no conversation: fix the value at `index` and `path`.

    `index` is the message's place in the list (None: the list itself or another argument), `path` the way
    to the value inside the message, such as `content[2].input.when`.
    """

    def __init__(self, problem: str, *, index: int | None = None, path: str = "") -> None:
        self.problem = problem
        self.index = index
        self.path = path
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = "" if self.index is None else f"message {self.index}"
        if self.path:
            where = f"{where}, {self.path}" if where else self.path
        return f"{where}: {self.problem}" if where else self.problem

    def at(self, index: int) -> InputError:
        """Return the same error, placed at a message of the list."""
        return type(self)(self.problem, index=index, path=self.path)


class LimitError(InputError):
    """A size or a name is outside the documented limits: send less, or rename."""


class UnfittableRequest(EbbtideError):
    """No view of this turn fits the window: shorten system, tools, output or the newest message.

    Carries the numbers (in tokens), the buffer to keep and the smallest view found, so nothing is lost.
    """

    def __init__(self, *, projected: int, limit: int, smallest: int, turn: Any) -> None:
        self.projected = projected
        self.limit = limit
        self.smallest = smallest
        self.turn = turn
        super().__init__(
            f"the request needs {projected} tokens, its smallest view {smallest}, and the limit is {limit}. "
            "Shorten the system prompt, the tools, max_tokens or the newest message."
        )


class StoreUnavailable(EbbtideError):
    """The state store did not answer in time: check the state URL and the server; hosts go on without it."""


class ContractError(EbbtideError):
    """A stored document is not of this contract's major version, or is damaged: check the fleet's
    versions."""


class CodecError(ContractError):
    """The codec of data at rest failed: check that all processes of the pool have the same one, and its
    keys."""


class NotApplicable(EbbtideError):
    """The record's position does not lie on the buffer's chain: keep the buffer, ask for a new record."""


class SummaryRejected(EbbtideError):
    """A summary failed validation; nothing was published. `reasons` says each check that failed."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(reasons))
