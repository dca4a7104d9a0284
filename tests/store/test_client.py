"""The clients: bounded, loud, counted, sync and async alike."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.errors import ContractError, InputError, StoreUnavailable
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import AsyncStore, SyncStore, size_of
from ebbtide_core.store.script import Call
from tests.store.session import COOLDOWN, TTL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ebbtide_core.store.results import SessionView
    from tests.store.clock import Database

OWNER = Owner.of("acme", "chat-42")


def turn(seq: int = 1, host: str = "h") -> Call[SessionView]:
    return session_calls.turn(
        OWNER,
        host=host,
        seq=seq,
        fresh_incarnation="life-1",
        model="m",
        state_ttl=TTL,
        breaker_cooldown=COOLDOWN,
    )


@contextmanager
def answering(reply: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Serve `reply` (nothing, if empty) to everything; yield host:port and what each connection sent."""
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            heard.append(b"")
            with connection, suppress(ConnectionError):
                while data := connection.recv(65536):
                    heard[-1] += data
                    if reply:
                        connection.sendall(reply)

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, args=(listener,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}", heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def dead_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def run_sync(url: str, call: Call[SessionView]) -> SessionView:
    store = SyncStore(url, timeout=0.05)
    try:
        return store.run(call)
    finally:
        store.close()


def run_async(url: str, call: Call[SessionView]) -> SessionView:
    async def main() -> SessionView:
        store = AsyncStore(url, timeout=0.05)
        try:
            return await store.run(call)
        finally:
            await store.close()

    return asyncio.run(main())


both = pytest.mark.parametrize("run", [run_sync, run_async])


@both
def test_a_dead_port_is_unavailable(run: Callable[[str, Call[SessionView]], SessionView]) -> None:
    """Where nothing listens, the error says what to check."""
    with pytest.raises(StoreUnavailable, match="Check the state URL and the server"):
        run(f"redis://127.0.0.1:{dead_port()}/0", turn())


@both
def test_a_missing_socket_is_unavailable(run: Callable[[str, Call[SessionView]], SessionView]) -> None:
    """So it is with a Unix socket that is not there."""
    with pytest.raises(StoreUnavailable):
        run("unix:///nowhere/valkey.sock?db=0", turn())


@both
def test_a_silent_server_is_asked_once(run: Callable[[str, Call[SessionView]], SessionView]) -> None:
    """A server that accepts and never answers is given up after one time-out, without a retry."""
    with answering(b"") as (address, heard):
        with pytest.raises(StoreUnavailable, match="Timeout"):
            run(f"redis://{address}/0", turn())
        assert len(heard) == 1


@both
@pytest.mark.parametrize(
    "reply", [b"-OOM too full\r\n", b"-LOADING wait\r\n", b"-ERR what\r\n", b"nonsense\r\n"]
)
def test_an_error_reply_is_unavailable(
    run: Callable[[str, Call[SessionView]], SessionView], reply: bytes
) -> None:
    """Whatever a server complains of, the host hears one kind of error."""
    with answering(reply) as (address, _), pytest.raises(StoreUnavailable):
        run(f"redis://{address}/0", turn())


@both
@pytest.mark.parametrize("url", ["redis://tide:hunter%402@{}/0", "redis://{}/0?password=hunter%402"])
def test_an_error_never_shows_the_password(
    run: Callable[[str, Call[SessionView]], SessionView], url: str
) -> None:
    """Even when the server repeats it, encoded or not."""
    with answering(b"-ERR no such user: tide with hunter%402 or hunter@2\r\n") as (address, heard):
        with pytest.raises(StoreUnavailable) as caught:
            run(url.format(address), turn())
        assert b"hunter@2" in heard[0]
    assert "no such user" in str(caught.value)
    assert "hunter" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("url", ["http://x", "redis://:sec#ret@h:port", "nonsense"])
@pytest.mark.parametrize("store", [SyncStore, AsyncStore])
def test_another_url_is_refused_without_showing_it(
    store: type[SyncStore] | type[AsyncStore], url: str
) -> None:
    """A wrong address is an input error; the address may hold a secret and is not shown."""
    with pytest.raises(InputError, match="not a state URL") as caught:
        store(url)
    assert "sec" not in str(caught.value)


def test_a_known_script_is_one_round_trip(store: SyncStore, database: Database) -> None:
    """A script is sent once; from then on, and for other clients, only its name is."""
    database.script_flush()
    store.run(turn(1))
    assert (store.stats.calls, store.stats.commands) == (1, 2)
    store.run(turn(2))
    assert (store.stats.calls, store.stats.commands) == (2, 3)


def test_a_forgotten_script_is_sent_again(store: SyncStore, database: Database) -> None:
    """After the server forgot its scripts, the call works as before."""
    store.run(turn(1))
    database.script_flush()
    assert store.run(turn(2)).turns == 2


async def test_the_async_client_does_the_same(async_store: AsyncStore, database: Database) -> None:
    """Async: same results, same fallback, same counts."""
    database.script_flush()
    assert (await async_store.run(turn(1))).turns == 1
    assert (await async_store.run(turn(2))).turns == 2
    assert (async_store.stats.calls, async_store.stats.commands) == (2, 3)
    database.script_flush()
    assert (await async_store.run(turn(3))).turns == 3


def test_bytes_are_counted(store: SyncStore) -> None:
    """What an upload and a download cost is seen in the counts."""
    key = OWNER.segment("d")
    store.run(blob_calls.put({key: b"x"}, ttl=60))
    sent, received = store.stats.bytes_out, store.stats.bytes_in
    store.run(blob_calls.put({key: b"x" * 10_000}, ttl=60))
    assert 10_000 < store.stats.bytes_out - sent < 10_400
    store.run(blob_calls.get(key))
    store.run(blob_calls.get(key))
    assert 20_000 < store.stats.bytes_in - received < 20_100


def test_the_recorder_is_told_of_every_round_trip(server: EmbeddedServer, database: Database) -> None:
    """By script, with the bytes both ways; a script that the server did not know counts twice."""
    recorder = MemoryRecorder()
    store = SyncStore(server.url, timeout=10.0, recorder=recorder)
    database.script_flush()
    store.run(turn(1))
    store.run(blob_calls.get(OWNER.segment("d")))
    store.run(blob_calls.get(OWNER.segment("d")))
    store.close()
    trips = {labels[0]: recorder.total(metrics.STORE_TRIPS, *labels) for labels in (("turn",), ("get",))}
    assert trips == dict(store.stats.scripts) == {"turn": 2, "get": 3}
    told = [
        sum(recorder.total(metrics.STORE_BYTES, script, direction) for script in trips)
        for direction in ("out", "in")
    ]
    assert told == [store.stats.bytes_out, store.stats.bytes_in]


def test_sizes_follow_the_wire() -> None:
    """Nested replies count all their parts; text counts in UTF-8."""
    assert size_of([b"abc", [1, None]]) == size_of(b"abc") + size_of([1, None]) + size_of([])
    assert size_of("é") == size_of(b"xx")


def test_one_client_serves_many_threads(store: SyncStore) -> None:
    """Calls of many threads neither mix replies nor lose counts."""
    hosts = [f"h{i}" for i in range(8)]

    def drive(host: str) -> list[int]:
        return [store.run(turn(seq, host)).turns for seq in range(1, 21)]

    with ThreadPoolExecutor(len(hosts)) as pool:
        seen = list(pool.map(drive, hosts))
    assert sorted(n for turns in seen for n in turns) == list(range(1, 161))
    assert store.stats.calls == 160


def test_a_client_outlives_its_server() -> None:
    """While the server is down calls are unavailable; after its restart the same client works again."""
    with EmbeddedServer(appendonly=True) as server:
        store = SyncStore(server.url, timeout=5.0)
        store.run(turn(1))
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                store.run(turn(2))
        server.start()
        assert store.run(turn(2)).turns == 2
        store.close()


async def test_an_async_client_outlives_its_server() -> None:
    """The same for asyncio."""
    with EmbeddedServer(appendonly=True) as server:
        store = AsyncStore(server.url, timeout=5.0)
        await store.run(turn(1))
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await store.run(turn(2))
        server.start()
        assert (await store.run(turn(2))).turns == 2
        await store.close()


def test_damaged_state_is_an_ebbtide_error(store: SyncStore, database: Database) -> None:
    """State that no script wrote is told as such and never as a bare error of the decoder."""
    store.run(turn(1))
    database.hset(OWNER.state, mapping={"brk_state": "ajar"})
    with pytest.raises(ContractError, match="turn"):
        store.run(turn(2))
    database.delete(OWNER.state)
    database.set(OWNER.state, "no hash", px=1000)
    with pytest.raises(StoreUnavailable, match="WRONGTYPE"):
        store.run(turn(3))


def test_a_lone_surrogate_in_a_name_does_not_raise(store: SyncStore) -> None:
    """Text that UTF-8 can't hold is sent with a replacement."""
    assert store.run(turn(1, host="\ud800")).turns == 1
