"""Runs calls against a Redis or Valkey server, with bounded waits and without retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from redis.exceptions import AskError, NoScriptError, RedisError

from ebbtide_core import metrics
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.forking import ForkSafeLock
from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_core.store.address import Address, Node
from ebbtide_core.store.link import AsyncLink, Link
from ebbtide_core.store.script import Call, Script, Scripts
from ebbtide_core.store.topology import Command

R = TypeVar("R")

SCAN_BATCH: Final = 1_000
"""Keys that the server looks at for one answer to SCAN."""

_FRAME_BYTES: Final = 6


@dataclass(slots=True)
class StoreStats:
    """What a client has done: calls, round trips (`commands`) in all and by script, bytes sent and received,
    roughly. Round trips and bytes go to `recorder` too.
    """

    recorder: Recorder = field(default_factory=NullRecorder, repr=False)
    calls: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    scripts: Counter[str] = field(default_factory=Counter)
    _lock: ForkSafeLock = field(default_factory=ForkSafeLock, repr=False)

    @property
    def commands(self) -> int:
        """Round trips in all."""
        return self.scripts.total()

    def called(self) -> None:
        """Count one call."""
        with self._lock:
            self.calls += 1

    def sent(self, script: str, command: Command) -> None:
        """Count one round trip."""
        size = size_of(command)
        with self._lock:
            self.scripts[script] += 1
            self.bytes_out += size
        self.recorder.count(metrics.STORE_TRIPS, script=script)
        self.recorder.count(metrics.STORE_BYTES, size, script=script, direction="out")

    def received(self, script: str, reply: Any) -> None:
        """Count a reply."""
        size = size_of(reply)
        with self._lock:
            self.bytes_in += size
        self.recorder.count(metrics.STORE_BYTES, size, script=script, direction="in")


def size_of(value: Any) -> int:
    """Return about how many bytes a value takes on the wire."""
    if isinstance(value, bytes):
        return _FRAME_BYTES + len(value)
    if isinstance(value, str):
        return _FRAME_BYTES + len(value if value.isascii() else value.encode(errors="replace"))
    if isinstance(value, list | tuple):
        return _FRAME_BYTES + sum(map(size_of, value))
    return _FRAME_BYTES + (0 if value is None else len(str(value)))


class SyncStore:
    """A client for threads. Share one: it keeps a pool of connections.

    `url` is `redis://`, `rediss://` or `unix://`, or `redis+cluster://` or `rediss+cluster://` with one or
    more nodes. `timeout` bounds each wait for a server, in seconds; connecting may take half of it, and so
    may finding a cluster's node. `recorder` is told of round trips and bytes, those for finding a node left
    out. Raises InputError for another kind of URL; connects at the first call.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 0.2,
        scripts: Scripts | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.stats = StoreStats(recorder or NullRecorder())
        self._scripts = scripts or Scripts()
        self._address = Address.read(url)
        self._link = Link(self._address, timeout)

    def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the server does not answer in time."""
        script = self._scripts[call.script]
        self.stats.called()
        try:
            try:
                reply = self._send(call, _by_sha(script, call))
            except NoScriptError:
                reply = self._send(call, _by_text(script, call))
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._address) from None
        return call.result(reply)

    def _send(self, call: Call[Any], command: Command) -> Any:
        self.stats.sent(call.script, command)
        reply = self._link.ask(_key(call), command)
        self.stats.received(call.script, reply)
        return reply

    def run_all(self, calls: Sequence[Call[R]]) -> list[R]:
        """Return the results of calls in their order, with a round trip for all but the first of each server.
        For reading.

        Raises StoreUnavailable when the server does not answer in time.
        """
        if not calls:
            return []
        results: dict[int, R] = {}
        try:
            groups = self._link.together([_key(call) for call in calls])
            for first, *later in groups:
                results[first] = self.run(calls[first])
                for place, reply in zip(later, self._piped([calls[p] for p in later]), strict=True):
                    results[place] = self._later(calls[place], reply)
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._address) from None
        return [results[place] for place in range(len(calls))]

    def _later(self, call: Call[R], reply: Any) -> R:
        """Return what a piped call was answered; one that the server has no script or no slot for is run
        anew.
        """
        if isinstance(reply, NoScriptError | AskError):
            return self.run(call)
        if isinstance(reply, RedisError):
            raise reply
        return call.result(reply)

    def _piped(self, calls: Sequence[Call[Any]]) -> list[Any]:
        if not calls:
            return []
        commands = [_by_sha(self._scripts[call.script], call) for call in calls]
        for command in commands:
            self.stats.sent("pipeline", command)
        return self._link.ask_all(_key(calls[0]), commands)

    def scan(self, pattern: str) -> Iterator[list[str]]:
        """Yield the keys that match, in batches; each at least once. Reads the whole key space, of each
        master of a cluster in turn.

        Raises StoreUnavailable when a server does not answer in time.
        """
        try:
            for node in self._link.masters():
                yield from self._scan(node, pattern)
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._address) from None

    def _scan(self, node: Node | None, pattern: str) -> Iterator[list[str]]:
        cursor = 0
        while True:
            command: Command = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_BATCH)
            self.stats.sent("scan", command)
            reply = self._link.ask_at(node, command)
            self.stats.received("scan", reply)
            cursor, found = reply
            if found:
                yield [str(key, "utf-8") for key in found]
            if cursor == 0:
                return

    def urls(self) -> list[str]:
        """Return the URL of each server, replicas too; they hold the password. Raises StoreUnavailable."""
        try:
            return self._link.urls()
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._address) from None

    def close(self) -> None:
        """Close all connections."""
        self._link.close()


class AsyncStore:
    """A client for one event loop; otherwise as `SyncStore`."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 0.2,
        scripts: Scripts | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.stats = StoreStats(recorder or NullRecorder())
        self._scripts = scripts or Scripts()
        self._address = Address.read(url)
        self._link = AsyncLink(self._address, timeout)

    async def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the server does not answer in time."""
        script = self._scripts[call.script]
        self.stats.called()
        try:
            try:
                reply = await self._send(call, _by_sha(script, call))
            except NoScriptError:
                reply = await self._send(call, _by_text(script, call))
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._address) from None
        return call.result(reply)

    async def _send(self, call: Call[Any], command: Command) -> Any:
        self.stats.sent(call.script, command)
        reply = await self._link.ask(_key(call), command)
        self.stats.received(call.script, reply)
        return reply

    async def close(self) -> None:
        """Close all connections."""
        await self._link.close()


def _key(call: Call[Any]) -> str:
    """Return the key that tells who serves a call: all its keys live together. Without any, anybody does."""
    return call.keys[0] if call.keys else ""


def _by_sha(script: Script, call: Call[Any]) -> Command:
    return ("EVALSHA", script.sha, *_operands(call))


def _by_text(script: Script, call: Call[Any]) -> Command:
    return ("EVAL", script.text, *_operands(call))


def _operands(call: Call[Any]) -> Command:
    """Return keys and arguments, text as bytes: hiredis, where it is installed, takes no lone surrogate."""
    given = (*call.keys, *call.argv)
    sent = (value.encode(errors="replace") if isinstance(value, str) else value for value in given)
    return (len(call.keys), *sent)


def _unavailable(error: Exception, address: Address) -> StoreUnavailable:
    """Return the error to raise. The server's own words may repeat the password: they don't pass."""
    said = address.masked(str(error).rstrip("."))
    hint = "Check the state URL and the server."
    if isinstance(error, AskError) and not address.seeds:
        hint = "It is a node of a cluster: give redis+cluster:// or rediss+cluster:// as the state URL."
    return StoreUnavailable(f"the state store did not answer: {type(error).__name__}: {said}. {hint}")
