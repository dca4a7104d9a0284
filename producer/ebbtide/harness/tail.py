"""Which of a history stays as it is and which is summarised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ebbtide.harness.blocks import Block, blocks
from ebbtide.harness.items import Item

Cost = Callable[[Sequence[Item]], int]
"""Returns the estimated tokens of items."""


@dataclass(frozen=True, slots=True)
class Split:
    """A history in two, each in its order: the head, to be summarised, and what is kept.

    `blocks` is the number of blocks of the head that are no summary, `resummarised` says that it holds one.
    """

    head: tuple[Item, ...]
    kept: tuple[Item, ...]
    blocks: int
    resummarised: bool


def split(items: Sequence[Item], cost: Cost, keep_tokens: int, keep_messages: int) -> Split:
    """Return head and tail of a history.

    The tail is a suffix: the newest block that is neither internal nor a summary (of a history without one,
    the newest internal block) with all after it, then older blocks while they are fewer than `keep_messages`
    items or fit `keep_tokens`. Summaries always go to the head. Ephemeral items and fixed blocks of the head
    are kept too, so they come to stand before the tail.
    """
    whole = blocks(items)
    tail = _tail(whole, lambda block: cost([items[i] for i in block.indices]), keep_tokens, keep_messages)
    older = [block for block in whole if block not in tail]
    leaving = [block for block in older if not block.fixed]
    head = {i for block in leaving for i in block.indices}
    return Split(
        head=tuple(items[i] for i in sorted(head)),
        kept=tuple(item for i, item in enumerate(items) if i not in head),
        blocks=sum(not block.summary for block in leaving),
        resummarised=any(block.summary for block in leaving),
    )


def _tail(
    whole: Sequence[Block], cost: Callable[[Block], int], keep_tokens: int, keep_messages: int
) -> frozenset[Block]:
    """Return the kept suffix. It closes at the first block refused, or at a summary."""
    anchor = _anchor(whole)
    tail: list[Block] = []
    tokens = count = 0
    for at in range(len(whole) - 1, -1, -1):
        block = whole[at]
        if block.summary:
            if at < anchor:
                break
            continue
        size = cost(block)
        if at < anchor and count >= keep_messages and tokens + size > keep_tokens:
            break
        tail.append(block)
        tokens += size
        count += len(block.indices)
    return frozenset(tail)


def _anchor(whole: Sequence[Block]) -> int:
    """Return the place of the block that is kept in any case."""
    spoken = [at for at, block in enumerate(whole) if not block.summary]
    return max((at for at in spoken if not whole[at].internal), default=max(spoken, default=0))
