"""Runs the commands for people in this process, on the test's own server."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.main import app
from tests.cli.command import environment
from tests.store.clock import Database

Command = Callable[..., Result]


@pytest.fixture
def ebbtide(server: EmbeddedServer, database: Database) -> Iterator[Command]:
    """Runs the command; `said` is what the user answers. Logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def invoke(*arguments: str, said: str = "") -> Result:
        env = environment(EBBTIDE_STATE=server.url)
        return CliRunner().invoke(app, arguments, input=said, env=env)

    yield invoke
    logging.captureWarnings(False)
    root.handlers, root.level = handlers, level


def printed(command: Command, *arguments: str) -> Any:
    """Return the JSON that a command prints; it must end well and say nothing else."""
    done = command(*arguments)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return json.loads(done.stdout)


def refused(command: Command, *arguments: str) -> str:
    """Return what a command that must fail tells on stderr; stdout stays empty for whoever reads JSON."""
    done = command(*arguments)
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    return " ".join(done.stderr.split())
