"""A TCP proxy on this machine that can be told to misbehave, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Final, Self, TypeVar

R = TypeVar("R")

LOCAL: Final = "127.0.0.1"
_CHUNK: Final = 1 << 16
_ANSWER_SECONDS: Final = 10.0


class Proxy:
    """`with Proxy(port) as proxy:` passes what comes to `proxy.port` on to `port`, and back.

    All methods may be called from any thread, and have taken effect when they return.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._delay = 0.0
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], tuple[asyncio.StreamWriter, ...]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="chaos-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._done(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._done(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def drop(self) -> None:
        """Close all connections that there are; new ones are taken."""
        self._done(self._dropped())

    def delay(self, seconds: float) -> None:
        """Let whatever passes, in either direction, take so much longer; 0: no longer."""
        self._delay = seconds

    def hold(self) -> None:
        """Let nothing pass: it arrives once it flows again, as after a broken path on the network."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        """Let everything pass again."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    def refuse(self) -> None:
        """Close all connections and refuse new ones."""
        self._done(self._refused())

    def accept(self) -> None:
        """Take connections again."""
        self._done(self._listen())

    def _done(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_SECONDS)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, LOCAL, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _refused(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        await self._dropped()

    async def _dropped(self) -> None:
        for writers in self._open.values():
            for writer in writers:
                writer.transport.abort()

    async def _shut(self) -> None:
        await self._refused()
        serving = list(self._open)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = (writer,)
        try:
            await self._connect(task, reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # a task that ends cancelled would be told of as a fault by asyncio's streams
        finally:
            for each in self._open.pop(task):
                each.transport.abort()

    async def _connect(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answers, server = await asyncio.open_connection(LOCAL, self._target)
        self._open[task] = (writer, server)
        pumps = {
            asyncio.create_task(self._pump(reader, server)),
            asyncio.create_task(self._pump(answers, writer)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK):
                await self._flowing.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                sink.write(data)
                await sink.drain()
