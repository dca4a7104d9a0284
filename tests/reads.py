"""Which messages are read: shared by tests of reading and of hosts."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core.dialects.base import Dialect
from ebbtide_core.lineage import buffer


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The buffer indices of the messages that were read, one after the other."""
    found: list[int] = []
    original = buffer.checked

    def counting(message: Any, index: int, dialect: Dialect) -> Any:
        found.append(index)
        return original(message, index, dialect)

    monkeypatch.setattr(buffer, "checked", counting)
    return found
