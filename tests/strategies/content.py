"""What messages of both formats are made of: texts, ids, arguments, payloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

Json = dict[str, Any]
Messages = list[Json]
Exchanges = st.SearchStrategy[Messages]


@dataclass(frozen=True)
class Shape:
    """The exchanges of one format.

    `opening`: what a request may begin with. `exchange`: valid wherever it stands after an opening.
    `ending`: valid only as the last one. `malformed`: calls left without result, a result without call, a
    call answered twice.
    """

    opening: Exchanges
    exchange: Exchanges
    ending: Exchanges
    malformed: Exchanges


SCRAPS: Final = (
    "go on",
    "fix core/app.py, line 7",
    "error E1234: no such file build/out.bin",
    "Never push to main.",
    "caf\u00e9, na\u00efve",
    "\u6771\u4eac\u3067\u4f1a\u8b70\u304c\u3042\u308b",
    "\u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f4bb done \U0001f44d\U0001f3fd",
    "half an emoji \ud83d and on",
    "why <|endoftext|> here?",
    "nospaces" * 30,
)
"""Texts that have broken counters, cutters and encoders."""

SHORT_DATA: Final = "iVBORw0KGgo="

ids = st.sampled_from([f"call_{n}" for n in range(6)])
"""Few, so that the same id comes again in a later exchange."""

orders = st.permutations(range(3))
id_lists = st.lists(ids, min_size=1, max_size=3, unique=True)
tool_names = st.sampled_from(["bash", "read_file", "search"])
payloads = st.sampled_from([SHORT_DATA, SHORT_DATA * 200])


def _joined(scrap: str, rest: str) -> str:
    return f"{scrap} {rest}"


def _repeated(scrap: str, times: int) -> str:
    return " ".join([scrap] * times)


texts: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(SCRAPS),
    st.builds(_joined, st.sampled_from(SCRAPS), st.text(max_size=12)),
    st.builds(_repeated, st.sampled_from(SCRAPS[:7]), st.integers(2, 40)),
)
"""Never blank; some hold lone surrogates, some are long."""

arguments: st.SearchStrategy[Json] = st.dictionaries(
    st.sampled_from(["path", "cmd", "cache_control", "when"]),
    st.one_of(texts, st.integers(-3, 99), st.none(), st.builds(dict, type=st.just("ephemeral"))),
    max_size=2,
)
"""A call's input. Its keys may look like keys of the provider's own; they are data."""


def shuffled(names: list[str], order: list[int]) -> list[str]:
    """Return at most three names in an order drawn from `orders`."""
    return [names[at] for at in order if at < len(names)]
