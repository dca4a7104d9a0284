"""What was used lately, in a bounded number."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, at most `most`: the one used longest ago is forgotten first. `make` gives new ones."""

    def __init__(self, most: int, make: Callable[[], V]) -> None:
        self._most = most
        self._make = make
        self._values: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        """Return the value of a key, a new one if there is none."""
        if key not in self._values:
            self._values[key] = self._make()
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return self._values[key]

    def __len__(self) -> int:
        return len(self._values)
