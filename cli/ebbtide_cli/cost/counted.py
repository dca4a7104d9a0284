"""A recorded session with the size of each of its messages: counted once, used by every strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.budget.measure import prior_ratio, scaled
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.tokens import Tokenizer
from ebbtide_core.dialects.base import Dialect, PlainMessage
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.economy.bill import Part
from ebbtide_core.lineage.buffer import read

Count = Callable[[PlainMessage], int]
"""Returns the model's tokens of a message."""


@dataclass(frozen=True, slots=True)
class Held:
    """A message that a host holds; its part has a name of its own within the session."""

    message: PlainMessage
    part: Part

    @property
    def tokens(self) -> int:
        """The model's tokens of the message."""
        return self.part.tokens


@dataclass(frozen=True, slots=True)
class Counted:
    """A session in the model's tokens; `fixed` are those of system and tools. Before each of `turns`, indices
    of messages, there was a request."""

    id: str
    dialect: Dialect
    fixed: int
    messages: Sequence[Held]
    turns: frozenset[int]


def counted(transcript: Transcript, model: str, tokenizer: Tokenizer) -> tuple[Counted, Count]:
    """Return the session as the model would count it, and what counts further messages alike.

    Raises InputError or LimitError for what a host would be refused.
    """
    dialect = by_name(transcript.format)
    meter, ratio = Meter(tokenizer, dialect), prior_ratio(model)
    entries = read(transcript.messages, dialect).entries
    pairs = enumerate(zip(transcript.messages, entries, strict=True))
    held = [Held(m, Part(n, scaled(meter.tokens(entry, m), ratio))) for n, (m, entry) in pairs]
    fixed = meter.value_tokens(transcript.system, "system") + meter.value_tokens(transcript.tools, "tools")
    session = Counted(transcript.id, dialect, scaled(fixed, ratio), held, frozenset(transcript.turns))
    return session, partial(_count, meter, dialect, ratio)


def _count(meter: Meter, dialect: Dialect, ratio: float, message: PlainMessage) -> int:
    return scaled(meter.tokens(read([message], dialect).entries[0], message), ratio)
