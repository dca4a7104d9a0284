"""Leaving superseded tool results out of messages, without a pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ebbtide_core.dialects.base import Dialect, Message, PlainMessage
from ebbtide_core.dialects.detect import chosen, for_messages
from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import plain
from ebbtide_core.lineage.buffer import read
from ebbtide_core.views.identity import Identity, Superseding
from ebbtide_core.views.prune import replaced, superseded


def prune(
    messages: Sequence[Message],
    *,
    dialect: str | Dialect | None = None,
    model: str = "",
    superseding: Superseding | None = None,
) -> list[Message]:
    """Return the messages with each tool result that a newer one of the same tool and target makes worthless
    replaced by a line that says so.

    Messages that hold none are the very objects that came; the others are copies in plain JSON, marks kept.
    Nothing is changed in place, and pruning what was pruned changes nothing. Without `dialect` and `model`
    the format is the one in which the messages call tools. `superseding` are rules as in `Policy`.

    Raises InputError or LimitError for anything that is no list of messages, an unknown dialect, a bad rule.
    """
    identity = Identity.of(superseding)
    spoken = chosen(dialect, model) if dialect or model else for_messages(_plain(messages))
    buffer = read(messages, spoken)
    instead = replaced(buffer, superseded(buffer, identity))
    return [instead.get(index, message) for index, message in enumerate(messages)]


def _plain(messages: Sequence[Message]) -> Iterator[PlainMessage]:
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        try:
            value = plain(message)
        except InputError as error:
            raise error.at(index) from None
        if isinstance(value, dict):
            yield value
