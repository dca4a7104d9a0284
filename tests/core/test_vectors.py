"""Canonical form and chain against kept vectors, and against a second reading of their definition."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest

from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import read
from ebbtide_core.lineage.canonical import canonical, message_digest
from tests.vectors.generate import HERE, text, vectors

Json = dict[str, Any]


def kept(file: str) -> list[Json]:
    """The vectors of a file."""
    cases: list[Json] = json.loads((HERE / file).read_text(encoding="ascii"))
    return cases


def named(case: Json) -> str:
    """A case's name as test id."""
    return str(case["name"])


@pytest.mark.parametrize("file", ["canonical.json", "chain.json"])
def test_the_vectors_are_those_of_the_code(file: str) -> None:
    """A canonical form or chain that drifts fails here; old digests would no longer fit."""
    assert (HERE / file).read_text(encoding="ascii") == text(vectors()[file])


@pytest.mark.parametrize("case", kept("canonical.json"), ids=named)
def test_a_message_has_its_canonical_form(case: Json) -> None:
    """Sorted keys, no spaces, UTF-8, no marks, no nulls, and its own digest."""
    form = canonical(case["message"], by_name(case["dialect"]))
    assert form.decode() == case["canonical"]
    framed = len(form).to_bytes(8, "big") + form
    assert message_digest(form) == case["digest"]
    assert blake2b(b"ebbtide/message/1" + framed, digest_size=16).hexdigest() == case["digest"]


@pytest.mark.parametrize("case", kept("canonical.json"), ids=named)
def test_a_canonical_form_says_only_what_was_said(case: Json) -> None:
    """It is JSON of sorted keys, holds no mark of ours, and is its own canonical form."""
    told = json.loads(case["canonical"])
    assert json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == case["canonical"]
    assert "ebbtide" not in told
    assert canonical(told, by_name(case["dialect"])).decode() == case["canonical"]


@pytest.mark.parametrize("case", kept("chain.json"), ids=named)
def test_a_buffer_has_its_chain(case: Json) -> None:
    """Every position from the base to the tip."""
    chain = read(case["messages"], by_name(case["dialect"])).chain
    found = [str(chain.at(count)) for count in range(chain.base.count, chain.tip.count + 1)]
    assert found == case["positions"]


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("three messages", (0, 1, 2)),
        ("the same in the other format", (0, 1, 2)),
        ("system messages are outside", (1, 3, 4)),
        ("ephemeral messages are outside", (1, 2, 3)),
        ("a summary sets the base", (1, 2, 3)),
        ("carried messages are passed over", (2, 3)),
        ("a summary elsewhere is a message", (0, 1)),
        ("items have no role", (0, 1, 2, 3)),
        ("a summary before items", (1, 2, 3, 4)),
    ],
)
def test_the_chain_is_what_its_definition_says(name: str, spoken: tuple[int, ...]) -> None:
    """d[i] = H(d[i-1] + canonical(m[i])) from the base, computed here a second time."""
    case = next(case for case in kept("chain.json") if case["name"] == name)
    count, _, digest = case["positions"][0].partition(":")
    if count == "0":
        assert digest == blake2b(f"ebbtide/chain/1/{case['dialect']}".encode(), digest_size=16).hexdigest()
    last = bytes.fromhex(digest)
    for place, (index, position) in enumerate(zip(spoken, case["positions"][1:], strict=True), 1):
        form = canonical(case["messages"][index], by_name(case["dialect"]))
        last = blake2b(last + form, digest_size=16).digest()
        assert position == f"{int(count) + place}:{last.hex()}"
