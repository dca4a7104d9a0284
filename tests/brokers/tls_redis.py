"""A Redis server of the distribution, which speaks TLS only and knows its users by an ACL file."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import redis
import trustme

from tests.brokers.process import ServerProcess, free_ports

BINARY: Final = shutil.which("redis-server")
ADMIN: Final = "admin"
PASSWORD: Final = "p@ss:w/rd%"
"""Of every user; it has to be encoded in a URL."""


class TlsRedis:
    """`with TlsRedis(folder) as server:` runs it; data and users survive `kill` and `start`."""

    def __init__(self, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self._ca = folder / "ca.pem"
        _certify(folder, self._ca)
        users = ("default off", f"{ADMIN} on >{PASSWORD}")
        (folder / "users.acl").write_text("".join(f"user {user} ~* &* +@all\n" for user in users))
        self._process = ServerProcess(self._command(folder), folder, self._answers)

    def _command(self, folder: Path) -> list[str]:
        options = {
            "port": "0",
            "tls-port": str(self._port),
            "bind": "127.0.0.1",
            "tls-cert-file": str(folder / "cert.pem"),
            "tls-key-file": str(folder / "key.pem"),
            "tls-ca-cert-file": str(self._ca),
            "tls-auth-clients": "no",
            "aclfile": str(folder / "users.acl"),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
            "dir": str(folder),
        }
        return [str(BINARY), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def url(self, user: str) -> str:
        """The address for a user: state store and broker alike."""
        return f"{self.bare_url(user)}?ssl_ca_certs={self._ca}"

    def bare_url(self, user: str) -> str:
        """The address without the CA that signed its certificate."""
        return f"rediss://{user}:{quote(PASSWORD, safe='')}@localhost:{self._port}/0"

    def admin(self) -> Any:
        """A client that may do everything."""
        return redis.Redis.from_url(self.url(ADMIN), decode_responses=True)

    def allow(self, line: str) -> None:
        """Carry out a line `ACL SETUSER …`, and keep the user over restarts."""
        with self.admin() as admin:
            admin.execute_command(*line.split())
            admin.execute_command("ACL", "SAVE")

    def refusals(self) -> list[tuple[str, str, str]]:
        """What was refused so far: user, why (`command`, `key`), and what."""
        with self.admin() as admin:
            return [(e["username"], e["reason"], e["object"]) for e in admin.acl_log()]

    def _answers(self) -> bool:
        try:
            with self.admin() as admin:
                return bool(admin.ping())
        except redis.RedisError:
            return False

    def start(self) -> None:
        """Start it."""
        self._process.start()

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _certify(folder: Path, ca: Path) -> None:
    """Write a CA's certificate, and a certificate and key for this machine that it signed."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(ca)
    issued.private_key_pem.write_to_path(folder / "key.pem")
    (folder / "cert.pem").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
