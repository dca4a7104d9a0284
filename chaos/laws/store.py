"""The store is tidy: what is in it runs out."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.evidence import Evidence


def tidy(found: Evidence) -> Iterator[str]:
    """No key of the state store lives for ever, but for what tenants and the fleet were told."""
    yield from (f"the key {key} never runs out" for key in found.untidy)
