"""A sequence that grows without being copied: what a session has said gets longer each turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Grown(Sequence[T], Generic[T]):
    """An immutable sequence that shares its items with those grown from it.

    Growing the longest one costs what is new; growing a shorter one copies it, so each keeps what it had.
    Its parts are tuples, and it is equal to a tuple or another one with equal items.
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._size = len(self._items)

    def grown(self, more: Sequence[T]) -> Grown[T]:
        """Return a sequence of these items and more."""
        longer: Grown[T] = Grown()
        longer._items = self._items if len(self._items) == self._size else self._items[: self._size]
        longer._items.extend(more)
        longer._size = self._size + len(more)
        return longer

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._size)
            if step == 1:
                return tuple(self._items[start : max(start, stop)])
            return tuple(self._items[at] for at in range(start, stop, step))
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} in a sequence of {self._size}")
        return self._items[index if index >= 0 else self._size + index]

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grown | tuple):
            return NotImplemented
        return len(self) == len(other) and self[:] == other[:]

    def __hash__(self) -> int:
        return hash(self[:])

    def __repr__(self) -> str:
        return f"Grown({self[:]!r})"
