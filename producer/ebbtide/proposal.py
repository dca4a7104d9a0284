"""What a host is asked before a swap takes effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.errors import EbbtideError, InputError
from ebbtide_core.jsonio import plain
from ebbtide_core.lineage.buffer import Kind, read
from ebbtide_core.lineage.marks import mark

MAX_ADDED: Final = 100
"""Messages that an answer may ask to keep."""


@dataclass(frozen=True, slots=True)
class SwapProposal:
    """A swap about to take effect: `removed` are the messages that the summary message will stand for.

    `before` and `after` are the request's size without and with it, in the model's tokens.
    """

    record: SummaryRecord
    summary_message: Message
    removed: tuple[Message, ...]
    before: int
    after: int


Answer = bool | Sequence[Message] | None
"""None or True: go on. False: decline; the record stays ready. Messages: go on, and keep these as well."""

OnSwap = Callable[[SwapProposal], Answer | Awaitable[Answer]]


def added_messages(answer: Any, dialect: Dialect) -> tuple[Message, ...] | None:
    """Return the messages that an answer adds, None when it declines. Raises InputError for any other answer,
    or an error instead of one.

    They are marked ephemeral: no part of the lineage, kept until the host takes them out. Calls, results and
    system messages can't be added, since they would stand where they were not said.
    """
    if isinstance(answer, Exception):
        raise InputError(f"it failed with {type(answer).__name__}", path="on_swap")
    if answer is None or isinstance(answer, bool):
        return None if answer is False else ()
    if isinstance(answer, Coroutine):
        answer.close()
    if not isinstance(answer, list | tuple) or len(answer) > MAX_ADDED:
        raise InputError(f"answer with None, a boolean or at most {MAX_ADDED} messages", path="on_swap")
    try:
        added = tuple(map(_ephemeral, answer))
        entries = read(added, dialect).entries
    except EbbtideError as error:
        raise InputError(str(error), path="on_swap") from None
    for index, entry in enumerate(entries):
        if entry.calls or entry.results or entry.kind is not Kind.EPHEMERAL:
            raise InputError("only messages without calls and results can be added", index=index)
    return added


def _ephemeral(message: Any) -> Any:
    value = plain(message)
    return mark(value, ephemeral=True) if isinstance(value, dict) else value
