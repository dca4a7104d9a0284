"""How vendors write a model's name before the name itself."""

from __future__ import annotations

from typing import Final

VENDOR: Final = r"(?:.*/)?(?:[\w-]+:)?(?:(?:[\w-]+\.)*anthropic\.)?"
"""A pattern for what may stand before a model's name: a path, a vendor with a colon, a cloud's region and
vendor.
"""
