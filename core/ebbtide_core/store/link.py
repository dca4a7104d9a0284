"""Connections to a state store, one server or a cluster, for threads and for asyncio."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as TooSlow
from redis.retry import Retry

from ebbtide_core.store.address import Address, Node
from ebbtide_core.store.topology import Command, Step, Steps, Topology

PATIENCE: Final = 0.5
"""No further step of a call, as after a redirect, begins later than this share of its timeout."""


class Link:
    """Sends commands for threads. `timeout` bounds each wait in seconds, connecting may take half of it, and
    nothing is sent twice. All methods raise RedisError or OSError."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._topology = Topology(address.seeds) if address.seeds else None
        self._clients: dict[Node | None, Any] = {}

    def ask(self, key: str, command: Command) -> Any:
        """Send a command to whoever serves the key."""
        if self._topology is None:
            return self._client(None).execute_command(*command)
        return self._done(self._topology.run(key, command))

    def ask_all(self, key: str, commands: Sequence[Command]) -> list[Any]:
        """Send commands to whoever serves the key, in one round trip; a refused one's reply is the error."""
        if self._topology is None:
            return self._piped(None, commands)
        self._done(self._topology.refreshed())
        node = self._topology.owner(key)
        try:
            return self._piped(node, commands)
        except (RedisError, OSError):
            if node is not None:
                self._topology.lost(node)
            raise

    def together(self, keys: Sequence[str]) -> list[list[int]]:
        """Return the places of keys, those that one server serves together."""
        if self._topology is None:
            return [list(range(len(keys)))]
        self._done(self._topology.refreshed())
        groups: dict[Node | None, list[int]] = {}
        for place, key in enumerate(keys):
            groups.setdefault(self._topology.owner(key), []).append(place)
        return list(groups.values())

    def masters(self) -> list[Node | None]:
        """Return the servers that hold keys; None stands for the single one."""
        return [None] if self._topology is None else self._done(self._topology.masters())

    def urls(self) -> list[str]:
        """Return the URL of each server, replicas too."""
        if self._topology is None:
            return [self._address.url]
        self._done(self._topology.masters())
        return [self._address.of(node) for node in self._topology.nodes]

    def ask_at(self, node: Node | None, command: Command) -> Any:
        """Send a command to one of the servers."""
        return self._sent(Step(node, (command,))) if node else self._client(None).execute_command(*command)

    def _done(self, steps: Steps) -> Any:
        """Carry out the steps of a call, each while there is patience left."""
        until = time.monotonic() + PATIENCE * self._timeout
        try:
            step = next(steps)
            while True:
                try:
                    reply = self._sent(step)
                except (RedisError, OSError) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(reply)
                _check_patience(until)
        except StopIteration as done:
            return done.value

    def _sent(self, step: Step) -> Any:
        if len(step.commands) == 1:
            return self._client(step.node).execute_command(*step.commands[0])
        return _last(self._piped(step.node, step.commands))

    def _piped(self, node: Node | None, commands: Sequence[Command]) -> list[Any]:
        pipe = self._client(node).pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        replies: list[Any] = pipe.execute(raise_on_error=False)
        return replies

    def _client(self, node: Node | None) -> Any:
        if node not in self._clients:
            retry = Retry(NoBackoff(), 0)
            self._clients.setdefault(node, _opened(redis.Redis, self._address, node, self._timeout, retry))
        return self._clients[node]

    def close(self) -> None:
        """Close all connections."""
        for client in list(self._clients.values()):
            client.close()


class AsyncLink:
    """The same for one event loop, with what a worker and a host's turn need of it."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._topology = Topology(address.seeds) if address.seeds else None
        self._clients: dict[Node | None, Any] = {}

    async def ask(self, key: str, command: Command) -> Any:
        """Send a command to whoever serves the key."""
        if self._topology is None:
            return await self._client(None).execute_command(*command)
        return await self._done(self._topology.run(key, command))

    async def _done(self, steps: Steps) -> Any:
        until = time.monotonic() + PATIENCE * self._timeout
        try:
            step = next(steps)
            while True:
                try:
                    reply = await self._sent(step)
                except (RedisError, OSError) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(reply)
                _check_patience(until)
        except StopIteration as done:
            return done.value

    async def _sent(self, step: Step) -> Any:
        client = self._client(step.node)
        if len(step.commands) == 1:
            return await client.execute_command(*step.commands[0])
        pipe = client.pipeline(transaction=False)
        for command in step.commands:
            pipe.execute_command(*command)
        return _last(await pipe.execute(raise_on_error=False))

    def _client(self, node: Node | None) -> Any:
        if node not in self._clients:
            retry = AsyncRetry(NoBackoff(), 0)
            self._clients[node] = _opened(redis.asyncio.Redis, self._address, node, self._timeout, retry)
        return self._clients[node]

    async def close(self) -> None:
        """Close all connections."""
        for client in list(self._clients.values()):
            await client.aclose()


def _opened(client: Any, address: Address, node: Node | None, timeout: float, retry: Any) -> Any:
    """Return a client that speaks RESP2, gives bytes, never retries, and waits `timeout` at most."""
    return client.from_url(
        address.url if node is None else address.of(node),
        socket_timeout=timeout,
        socket_connect_timeout=timeout / 2,
        retry=retry,
        protocol=2,
        decode_responses=False,
        encoding_errors="replace",
    )


def _check_patience(until: float) -> None:
    if time.monotonic() > until:
        raise TooSlow("the node was found too late for this call")


def _last(replies: list[Any]) -> Any:
    """Return the last reply of several, or raise the error that it is."""
    if isinstance(replies[-1], Exception):
        raise replies[-1]
    return replies[-1]
