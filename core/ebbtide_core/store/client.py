"""Runs calls against a Redis or Valkey server, with bounded waits and without retries."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import quote

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from ebbtide_core import metrics
from ebbtide_core.errors import InputError, StoreUnavailable
from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_core.store.script import Argument, Call, Script, Scripts

R = TypeVar("R")
Command = tuple[Argument, ...]

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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

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

    `url` is `redis://`, `rediss://` or `unix://`. `timeout` bounds each wait for the server, in seconds;
    connecting may take half of it. `recorder` is told of round trips and bytes. Raises InputError for another
    kind of URL; connects at the first call.
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
        self._redis = _opened(redis.Redis, url, timeout, Retry(NoBackoff(), 0))

    def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the server does not answer in time."""
        script = self._scripts[call.script]
        self.stats.called()
        try:
            try:
                reply = self._send(call.script, _by_sha(script, call))
            except NoScriptError:
                reply = self._send(call.script, _by_text(script, call))
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._redis) from None
        return call.result(reply)

    def _send(self, script: str, command: Command) -> Any:
        self.stats.sent(script, command)
        reply = self._redis.execute_command(*command)
        self.stats.received(script, reply)
        return reply

    def run_all(self, calls: Sequence[Call[R]]) -> list[R]:
        """Return the results of calls in their order, with a round trip for all but the first. For reading.

        Raises StoreUnavailable when the server does not answer in time.
        """
        if not calls:
            return []
        first = self.run(calls[0])
        try:
            replies = self._pipelined([_by_sha(self._scripts[call.script], call) for call in calls[1:]])
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._redis) from None
        return [first, *(self._later(c, r) for c, r in zip(calls[1:], replies, strict=True))]

    def _later(self, call: Call[R], reply: Any) -> R:
        """Return what a piped call was answered; one whose script the server does not know is run anew."""
        if isinstance(reply, NoScriptError):
            return self.run(call)
        if isinstance(reply, RedisError):
            raise _unavailable(reply, self._redis)
        return call.result(reply)

    def _pipelined(self, commands: Sequence[Command]) -> list[Any]:
        pipe = self._redis.pipeline(transaction=False)
        for command in commands:
            self.stats.sent("pipeline", command)
            pipe.execute_command(*command)
        replies: list[Any] = pipe.execute(raise_on_error=False)
        return replies

    def scan(self, pattern: str) -> Iterator[list[str]]:
        """Yield the keys that match, in batches; each at least once. Reads the server's whole key space.

        Raises StoreUnavailable when the server does not answer in time.
        """
        cursor = 0
        while True:
            command: Command = ("SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_BATCH)
            try:
                cursor, found = self._send("scan", command)
            except (RedisError, OSError) as error:
                raise _unavailable(error, self._redis) from None
            if found:
                yield [str(key, "utf-8") for key in found]
            if cursor == 0:
                return

    def close(self) -> None:
        """Close all connections."""
        self._redis.close()


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
        self._redis = _opened(redis.asyncio.Redis, url, timeout, AsyncRetry(NoBackoff(), 0))

    async def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the server does not answer in time."""
        script = self._scripts[call.script]
        self.stats.called()
        try:
            try:
                reply = await self._send(call.script, _by_sha(script, call))
            except NoScriptError:
                reply = await self._send(call.script, _by_text(script, call))
        except (RedisError, OSError) as error:
            raise _unavailable(error, self._redis) from None
        return call.result(reply)

    async def _send(self, script: str, command: Command) -> Any:
        self.stats.sent(script, command)
        reply = await self._redis.execute_command(*command)
        self.stats.received(script, reply)
        return reply

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()


def _opened(client: Any, url: str, timeout: float, retry: Any) -> Any:
    """Return a client that speaks RESP2, gives bytes, never retries, and waits `timeout` at most."""
    try:
        return client.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout / 2,
            retry=retry,
            protocol=2,
            decode_responses=False,
            encoding_errors="replace",
        )
    except ValueError:
        raise InputError(
            "not a state URL: give redis://, rediss:// or unix:// (value not shown)", path="url"
        ) from None


def _by_sha(script: Script, call: Call[Any]) -> Command:
    return ("EVALSHA", script.sha, *_operands(call))


def _by_text(script: Script, call: Call[Any]) -> Command:
    return ("EVAL", script.text, *_operands(call))


def _operands(call: Call[Any]) -> Command:
    """Return keys and arguments, text as bytes: hiredis, where it is installed, takes no lone surrogate."""
    given = (*call.keys, *call.argv)
    sent = (value.encode(errors="replace") if isinstance(value, str) else value for value in given)
    return (len(call.keys), *sent)


def _unavailable(error: Exception, client: Any) -> StoreUnavailable:
    """Return the error to raise. The server's own words may repeat the password: they don't pass."""
    said = str(error).rstrip(".")
    password = client.connection_pool.connection_kwargs.get("password")
    for shown in (password, quote(password, safe="")) if password else ():
        said = said.replace(shown, "***")
    what = f"{type(error).__name__}: {said}"
    return StoreUnavailable(f"the state store did not answer: {what}. Check the state URL and the server.")
