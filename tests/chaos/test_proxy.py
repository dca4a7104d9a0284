"""The proxy passes bytes on, and misbehaves as it is told."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest
from chaos.proxy import LOCAL, Proxy


class _Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(4096):
            self.request.sendall(data)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says what it is told."""
    with socketserver.ThreadingTCPServer((LOCAL, 0), _Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    """A proxy before that server."""
    with Proxy(echo) as proxy:
        yield proxy


def connected(proxy: Proxy) -> socket.socket:
    """Return a connection that has passed something on."""
    client = socket.create_connection((LOCAL, proxy.port), timeout=20)
    assert said(client, b"hello") == b"hello"
    return client


def said(client: socket.socket, data: bytes) -> bytes:
    """Send something, and return what comes back."""
    client.sendall(data)
    found = b""
    while len(found) < len(data) and (more := client.recv(1 << 16)):
        found += more
    return found


def test_bytes_pass_both_ways(proxy: Proxy) -> None:
    """Also many of them, on several connections."""
    with connected(proxy) as one, connected(proxy) as two:
        assert said(one, b"1" * 500_000) == b"1" * 500_000
        assert said(two, b"2") == b"2"


def test_dropped_connections_are_gone_and_new_ones_work(proxy: Proxy) -> None:
    """The client sees an end or a reset."""
    with connected(proxy) as old:
        proxy.drop()
        assert ended(old)
    with connected(proxy):
        pass


def ended(client: socket.socket) -> bool:
    """Say whether the connection was closed from the other side."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_refused_connections_are_refused_until_accepted_again(proxy: Proxy) -> None:
    """At the same address."""
    with connected(proxy) as old:
        proxy.refuse()
        assert ended(old)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.accept()
    with connected(proxy):
        pass


def test_what_is_held_arrives_later(proxy: Proxy) -> None:
    """Nothing is lost, as on a network that was cut and is whole again."""
    with connected(proxy) as client:
        proxy.hold()
        client.sendall(b"late")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(20)
        proxy.flow()
        assert client.recv(4) == b"late"


def test_a_proxy_ends_while_something_is_held(echo: int) -> None:
    """It waits for nobody, and ends its connections; what was held is dropped."""
    with Proxy(echo) as proxy:
        client = connected(proxy)
        proxy.hold()
        client.sendall(b"never")
    with client:
        assert ended(client)


def test_a_server_that_is_gone_ends_the_connection() -> None:
    """As a refusal that comes a little later."""
    with socket.create_server((LOCAL, 0)) as gone:
        port = gone.getsockname()[1]
    with Proxy(port) as proxy, socket.create_connection((LOCAL, proxy.port), timeout=20) as client:
        assert ended(client)
