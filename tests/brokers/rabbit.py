"""A RabbitMQ server of the distribution, with a node name, ports and folders of its own."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.brokers.process import ServerProcess, free_ports

SCRIPTS: Final = Path("/usr/lib/rabbitmq/bin")
"""The scripts themselves: those on PATH insist on the system's user and folders."""


class Rabbit:
    """`with Rabbit(folder) as server:` runs it; queues survive `kill` and `start`."""

    def __init__(self, folder: Path) -> None:
        self._port, distribution, self._mapper = free_ports(3)
        self._node = f"ebbtide{self._port}@localhost"
        self._env = {
            "PATH": f"{os.environ['PATH']}{os.pathsep}{os.defpath}",
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(self._mapper),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_ALLOW_INPUT": "yes",  # the server takes the script's place, and so its signals
            "RABBITMQ_SERVER_START_ARGS": "-noinput",
            "RABBITMQ_NODENAME": self._node,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }
        command = [str(SCRIPTS / "rabbitmq-server")]
        self._process = ServerProcess(command, folder, self._greets, self._env)

    @property
    def url(self) -> str:
        """The address for Celery."""
        return f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def queues(self) -> list[str]:
        """Each queue with its type."""
        command = [str(SCRIPTS / "rabbitmqctl"), "-n", self._node, "-q", "list_queues", "--no-table-headers"]
        done = subprocess.run([*command, "name", "type"], env=self._env, capture_output=True, check=True)
        return [" ".join(line.split()) for line in done.stdout.decode().splitlines()]

    def _greets(self) -> bool:
        """Say whether it takes AMQP: it hangs up on another protocol, naming its own."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as client:
                client.sendall(b"AMQP\x09\x09\x09\x09")
                return client.recv(4) == b"AMQP"
        except OSError:
            return False

    def start(self) -> None:
        """Start it."""
        self._process.start()

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()

    def stop(self) -> None:
        """End it in order."""
        self._process.stop()

    def freeze(self) -> None:
        """Stop it without an end."""
        self._process.freeze()

    def thaw(self) -> None:
        """Let it go on."""
        self._process.thaw()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        ended = ["epmd", "-port", str(self._mapper), "-kill"]
        subprocess.run(ended, env=self._env, capture_output=True, check=False)
