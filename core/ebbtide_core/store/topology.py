"""Which node of a cluster serves a key, and how one call finds it. Nothing here does I/O.

A step is yielded for whoever does the I/O, which sends the reply back in, or throws the error in.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis import exceptions
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError

from ebbtide_core.store.address import Node
from ebbtide_core.store.script import Argument

Command = tuple[Argument, ...]

_LOST: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    ClusterDownError,
    OSError,
)
"""What makes the topology doubtful: it is learned anew, from another node."""

_SLOTS: Final[Command] = ("CLUSTER", "SLOTS")


@dataclass(frozen=True, slots=True)
class Step:
    """Commands to send to one node, the last one's reply being wanted."""

    node: Node
    commands: tuple[Command, ...]


Steps = Generator[Step, Any, Any]


class Topology:
    """What is known of a cluster: its nodes in the order in which they are asked, and who serves which slot.

    It is learned at the first call and again after each fault, from one node a call: a call that meets a
    fault fails, and the next one asks another node, in the end the seeds again. So no call waits for one dead
    node after the other. May be shared by threads: every change is one assignment, and what is wrong is
    learned anew.
    """

    def __init__(self, seeds: Sequence[Node]) -> None:
        self._seeds = tuple(seeds)
        self._asked = list(seeds)
        self._owners: dict[int, Node] = {}
        self._masters: list[Node] = []
        self._all: list[Node] = []
        self._known = False

    @property
    def nodes(self) -> list[Node]:
        """All nodes, replicas too, as they were told last."""
        return list(self._all)

    def owner(self, key: str) -> Node | None:
        """Return who serves a key, None when that is not known."""
        return self._owners.get(key_slot(key.encode()))

    def run(self, key: str, command: Command) -> Steps:
        """Send a command to the key's node, and at most once more where that one points."""
        yield from self.refreshed()
        node = self.owner(key)
        if node is None:
            self.lost(self._asked[0])
            raise ClusterDownError("no node of the cluster serves this slot")
        try:
            return (yield from self.at(node, command))
        except MovedError as moved:
            self._owners[moved.slot_id] = target = _pointed(moved, node)
            return (yield from self.at(target, command))
        except AskError as ask:
            return (yield from self.at(_pointed(ask, node), ("ASKING",), command))

    def at(self, node: Node, *commands: Command) -> Steps:
        """Send commands to one node."""
        try:
            return (yield Step(node, commands))
        except _LOST:
            self.lost(node)
            raise

    def masters(self) -> Steps:
        """Return the nodes that serve slots, learned just now."""
        self._known = False
        yield from self.refreshed()
        return list(self._masters)

    def refreshed(self) -> Steps:
        """Learn the topology, unless it is known, from the first node of the list."""
        if not self._known:
            node = self._asked[0]
            self._learn((yield from self.at(node, _SLOTS)), node)

    def lost(self, node: Node) -> None:
        """Note that a node does not serve. All is learned anew, from another node than this and than the one
        that told of it: that one may be cut off itself.
        """
        self._known = False
        first = self._asked[0]
        others = [other for other in self._asked if other not in (first, node)]
        self._asked = [*others, *([] if node == first else [first]), node]

    def _learn(self, reply: Any, asked: Node) -> None:
        owners: dict[int, Node] = {}
        nodes: dict[Node, None] = {}
        for first, last, *serving in reply:
            master, *replicas = [_named(node, asked) for node in serving]
            owners.update(dict.fromkeys(range(int(first), int(last) + 1), master))
            nodes.update(dict.fromkeys([master, *replicas]))
        self._owners = owners
        self._masters = list(dict.fromkeys(owners.values()))
        self._all = list(nodes)
        self._asked = list(dict.fromkeys([asked, *nodes, *self._seeds]))
        self._known = True


def _named(entry: Sequence[Any], asked: Node) -> Node:
    """Read a node of CLUSTER SLOTS; one that does not know its own name is where it was asked."""
    host = str(entry[0] or b"", "utf-8")
    return (asked[0] if host in ("", "?") else host), int(entry[1])


def _pointed(error: AskError, asked: Node) -> Node:
    return (error.host or asked[0]), error.port
