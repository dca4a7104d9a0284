"""The local summariser: extraction, merge with the base, fitted into the budget. No model, no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ebbtide_core.summary.extract import Reader
from ebbtide_core.summary.fit import fit
from ebbtide_core.summary.gather import gather
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import SourceMessage


def extract(
    source: Sequence[SourceMessage],
    *,
    base: Summary | None = None,
    language: str = "",
    reader: Reader | None = None,
) -> Summary:
    """Return all that extraction finds in messages, merged onto the summary of what came before them.

    Give a `reader` to have messages read once, however often they are summarised.
    """
    found = gather(map(reader or Reader(), source))
    said = Summary(language=language)
    return merge([found, said] if base is None else [base, found, said])


def summarise(
    source: Sequence[SourceMessage],
    *,
    base: Summary | None,
    budget: int,
    count: Callable[[str], int],
    language: str = "",
) -> Summary:
    """Return a summary of base and messages that renders to at most `budget` tokens by `count`.

    The bound is hard; only when the empty summary's rendering is above it already, that one is returned.
    The same input gives the same summary. `language` is noted as it is; "" keeps the base's.
    """
    return fit(extract(source, base=base, language=language), budget, count)
