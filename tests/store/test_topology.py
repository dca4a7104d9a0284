"""Finding a cluster's node: one step when all is known, one more after a redirect, none after a fault."""

from __future__ import annotations

from typing import Any

import pytest
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError
from redis.exceptions import ConnectionError as Refused

from ebbtide_core.store.address import Node
from ebbtide_core.store.topology import Command, Step, Steps, Topology

A, B, C = ("a", 1), ("b", 2), ("c", 3)
KEY = "ebbtide:1:{s:t:x}:state"
SLOT = key_slot(KEY.encode())
GET: Command = ("GET", KEY)
SLOTS: Command = ("CLUSTER", "SLOTS")


def serving(node: Node, *replicas: Node) -> list[Any]:
    """Return what CLUSTER SLOTS says when one node serves all slots."""
    return [[0, 16_383, *([host.encode(), port, b"id"] for host, port in (node, *replicas))]]


def carried_out(steps: Steps, *replies: Any) -> tuple[list[Step], Any]:
    """Answer each step with the next reply, or throw it in; return the steps and the result."""
    taken, waiting = [], list(replies)
    try:
        step = next(steps)
        while True:
            taken.append(step)
            reply = waiting.pop(0)
            step = steps.throw(reply) if isinstance(reply, Exception) else steps.send(reply)
    except StopIteration as done:
        assert not waiting
        return taken, done.value


def known(*nodes: Node) -> Topology:
    """Return a topology in which the first node serves everything."""
    topology = Topology(nodes)
    carried_out(topology.refreshed(), serving(*nodes))
    return topology


def asked_next(topology: Topology) -> Node:
    """Return which node is asked for the topology next."""
    return next(topology.masters()).node


def test_it_is_learned_once() -> None:
    """The first call asks a seed, and later ones go straight to the owner."""
    topology = Topology([A])
    first, value = carried_out(topology.run(KEY, GET), serving(B), b"x")
    assert (first, value) == ([Step(A, (SLOTS,)), Step(B, (GET,))], b"x")
    assert carried_out(topology.run(KEY, GET), b"y") == ([Step(B, (GET,))], b"y")


def test_a_redirect_is_followed_once_and_remembered() -> None:
    """A second redirect is the caller's; the next call begins where the first one pointed."""
    topology = known(A, B)
    steps, value = carried_out(topology.run(KEY, GET), MovedError(f"{SLOT} b:2"), b"x")
    assert ([step.node for step in steps], value) == ([A, B], b"x")
    with pytest.raises(MovedError):
        carried_out(topology.run(KEY, GET), MovedError(f"{SLOT} c:3"), MovedError(f"{SLOT} a:1"))
    assert [step.node for step in carried_out(topology.run(KEY, GET), b"x")[0]] == [C]


def test_a_slot_under_way_is_asked_for_and_not_remembered() -> None:
    """ASKING goes right before the command."""
    topology = known(A, B)
    steps, _ = carried_out(topology.run(KEY, GET), AskError(f"{SLOT} b:2"), b"x")
    assert steps[1] == Step(B, (("ASKING",), GET))
    assert [step.node for step in carried_out(topology.run(KEY, GET), b"x")[0]] == [A]


@pytest.mark.parametrize("fault", [Refused("no"), ClusterDownError("down"), TimeoutError("late")])
def test_a_fault_ends_the_call_and_the_next_asks_another_node(fault: Exception) -> None:
    """No call waits for one dead node after the other."""
    topology = known(A, B, C)
    with pytest.raises(type(fault)):
        carried_out(topology.run(KEY, GET), fault)
    asked = []
    for _ in range(3):
        asked.append(asked_next(topology))
        with pytest.raises(Refused):
            carried_out(topology.run(KEY, GET), Refused("no"))
    assert (asked[-1], set(asked)) == (A, {A, B, C})
    steps, _ = carried_out(topology.run(KEY, GET), serving(B, C), b"x")
    assert steps[1].node == B


def test_one_that_names_a_dead_owner_is_asked_again_after_the_others() -> None:
    """It may be cut off itself, and its topology an old one."""
    topology, asked = Topology([A, B, C]), []
    for _ in range(2):
        asked.append(asked_next(topology))
        with pytest.raises(Refused):
            carried_out(topology.run(KEY, GET), serving(B, A, C), Refused("no"))
    assert asked == [A, C]


def test_the_seeds_are_asked_in_the_end() -> None:
    """A cluster whose nodes were all replaced is found again by the names that its URL has."""
    topology = Topology([A])
    carried_out(topology.refreshed(), serving(B, C))
    with pytest.raises(Refused):
        carried_out(topology.run(KEY, GET), Refused("B is gone"))
    carried_out(topology.run(KEY, GET), serving(C), b"x")
    with pytest.raises(Refused):
        carried_out(topology.run(KEY, GET), Refused("C is gone, too"))
    steps, _ = carried_out(topology.run(KEY, GET), serving(B), b"y")
    assert [step.node for step in steps] == [A, B]


def test_a_slot_that_nobody_serves_is_down() -> None:
    """And it is learned anew from another node."""
    topology = Topology([A, B])
    with pytest.raises(ClusterDownError, match="no node"):
        carried_out(topology.run(KEY, GET), [])
    steps, _ = carried_out(topology.run(KEY, GET), serving(B), b"x")
    assert [step.node for step in steps] == [B, B]


@pytest.mark.parametrize("name", [b"", None, b"?"])
def test_a_node_without_a_name_is_where_it_was_asked(name: bytes | None) -> None:
    """A cluster of one does not know its own address."""
    topology = Topology([A])
    steps, _ = carried_out(
        topology.run(KEY, GET), [[0, 16_383, [name, 1, b"id"]]], MovedError(f"{SLOT} :7"), b""
    )
    assert [step.node for step in steps] == [A, A, ("a", 7)]


def test_replicas_are_known_and_hold_no_keys() -> None:
    """They are asked for the topology only."""
    topology = known(A, B)
    assert topology.nodes == [A, B]
    assert carried_out(topology.masters(), serving(A, B))[1] == [A]
