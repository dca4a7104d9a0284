"""What a state URL names: one server, or some nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from redis import connection

from ebbtide_core.errors import InputError

Node = tuple[str, int]
"""Host and port of one server of a cluster."""

CLUSTER_MARK: Final = "+cluster"
DEFAULT_PORT: Final = 6379


@dataclass(frozen=True, slots=True)
class Address:
    """A state URL that was read. Its text holds the password: show it with `masked` only.

    `url` is for redis-py and names the first server; `seeds` are the nodes of a cluster that the URL names,
    none for a single server.
    """

    url: str = field(repr=False)
    seeds: tuple[Node, ...] = ()

    @classmethod
    def read(cls, url: str) -> Address:
        """Read `redis://`, `rediss://`, `unix://`, or `redis+cluster://` and `rediss+cluster://`, which may
        name several nodes: `redis+cluster://user:password@a:6379,b:6379`. Raises InputError, which never
        shows the URL.
        """
        try:
            address = cls._read(url)
            _check(address.url)
        except ValueError:
            raise InputError(
                "not a state URL: give redis://, rediss://, unix://, redis+cluster:// or rediss+cluster:// "
                "(value not shown)",
                path="url",
            ) from None
        return address

    @classmethod
    def _read(cls, url: str) -> Address:
        scheme, mark, rest = url.partition(f"{CLUSTER_MARK}://")
        if not mark:
            return cls(url)
        parts = urlsplit(f"{scheme}://{rest}")
        if scheme == "unix" or parts.path.strip("/") not in ("", "0"):
            raise ValueError("a cluster has no socket, and database 0 only")
        seeds = tuple(_node(text) for text in parts.netloc.rpartition("@")[2].split(","))
        alone = cls(parts._replace(path="").geturl(), seeds)
        return cls(alone.of(seeds[0]), seeds)

    def of(self, node: Node) -> str:
        """Return the URL of one node, with the same user, password and options."""
        parts = urlsplit(self.url)
        user, at, _ = parts.netloc.rpartition("@")
        host, port = node
        netloc = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return parts._replace(netloc=f"{user}{at}{netloc}").geturl()

    def masked(self, said: str) -> str:
        """Return a text without the URL's password, plain or encoded."""
        for secret in _secrets(self.url):
            said = said.replace(secret, "***")
        return said


def _node(text: str) -> Node:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a node without a host")
    return parts.hostname, parts.port or DEFAULT_PORT


def _check(url: str) -> None:
    """Raise ValueError for a URL that no connection could be made of; nothing is connected."""
    options = _options(url)
    kind: Any = options.pop("connection_class", connection.Connection)
    try:
        kind(**options)
    except Exception as error:
        raise ValueError("an unknown option, or a value that it can't have") from error


def _secrets(url: str) -> Iterator[str]:
    password = _options(url).get("password")
    if password:
        yield password
        yield quote(password, safe="")


def _options(url: str) -> dict[str, Any]:
    parse: Any = connection.parse_url
    options: dict[str, Any] = parse(url)
    return options
