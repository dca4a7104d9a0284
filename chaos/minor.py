"""Other minor versions of the contract, made up: what an older one never wrote, what a newer one adds."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from ebbtide_core.contract.base import Contract
from ebbtide_core.jsonio import canonical_bytes
from ebbtide_core.names import CONTRACT_MAJOR

UNKNOWN: Final = "x_future"
"""A field that no reader of today knows."""


class Minor(StrEnum):
    """A side's minor version. OLDER leaves optional fields out, NEWER adds one to every document."""

    OLDER = "older"
    NEWER = "newer"


def speak(minor: Minor) -> None:
    """Let this process write all documents as a minor version does, for as long as it lives."""
    write = older if minor is Minor.OLDER else newer
    Contract.to_json = write  # type: ignore[method-assign, assignment]


def older(document: Contract) -> bytes:
    """Return the document without the fields that say nothing but their default."""
    return canonical_bytes(
        {"major": CONTRACT_MAJOR, **document.model_dump(mode="json", exclude_defaults=True)}
    )


def newer(document: Contract) -> bytes:
    """Return the document with an unknown field in itself and in each document within it."""
    return canonical_bytes({"major": CONTRACT_MAJOR, **_extended(document, document.model_dump(mode="json"))})


def _extended(value: Any, dumped: Any) -> Any:
    if isinstance(value, Contract):
        inner = {name: _extended(getattr(value, name), dumped[name]) for name in dumped}
        return {**inner, UNKNOWN: {"since": [CONTRACT_MAJOR, 99]}}
    if isinstance(value, tuple):
        return [_extended(*pair) for pair in zip(value, dumped, strict=True)]
    return dumped
