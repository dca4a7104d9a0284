"""The codec that a flag or a variable names, and a pool whose processes all have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from ebbtide import Policy, Pool
from ebbtide_cli.codec import named_codec
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.settings import Settings
from ebbtide_cli.worker import worker_config
from ebbtide_core.errors import ContractError
from ebbtide_core.jsonio import unpack
from ebbtide_core.store.codec import PLAIN
from tests.cli.command import run, running
from tests.codecs import Keyed
from tests.host.talk import chat
from tests.store.clock import Database
from tests.waiting import wait_until

ROOT = str(Path(__file__).resolve().parents[2])
NAME = "tests.codecs:Keyed"
WORDS = (b"billing", b"Postgres", b"module_1")


def test_a_class_a_function_and_an_object_can_be_named() -> None:
    """The first two are called for the codec; no name is the plain one."""
    assert isinstance(named_codec(NAME), Keyed)
    assert isinstance(named_codec("tests.codecs:keyed"), Keyed)
    assert named_codec("ebbtide_core.store.codec:PLAIN") is PLAIN
    assert named_codec("") is PLAIN


@pytest.mark.parametrize(
    "name",
    ["no.such.module:x", "tests.codecs", "tests.codecs:Nothing", ":x", "json:dumps", "json:JSONEncoder"],
)
def test_anything_else_is_refused(name: str) -> None:
    """With the flag, the variable, and how to name one."""
    with pytest.raises(typer.BadParameter, match="--codec or EBBTIDE_CODEC"):
        named_codec(name)


def test_a_worker_is_told_the_codec() -> None:
    """The very object; nothing of it is in the config's text."""
    config = worker_config(Settings.read(state="redis://a", codec=NAME))
    assert isinstance(config.codec, Keyed)
    assert "Keyed" not in repr(config)


@pytest.mark.processes
def test_nothing_is_plain_at_rest_over_a_sessions_whole_life(
    tmp_path: Path, server: EmbeddedServer, database: Database
) -> None:
    """A worker process makes versions for a host of the same codec; the session command reads them with it,
    and can't without.
    """
    ready = tmp_path / "ready"
    given = {"EBBTIDE_STATE": server.url, "EBBTIDE_CODEC": NAME, "PYTHONPATH": ROOT}
    with running(tmp_path, "worker", "--ready-file", ready, **given):
        wait_until(ready.exists, "the worker is ready", 60)
        policy = Policy(wait_budget=30.0, keep_recent_tokens=300)
        with Pool(server.url, policy=policy, codec=Keyed()) as pool:
            session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
            turn = session.prepare(chat(27))
            assert turn.swap is not None
            assert not turn.report.faults
    strings = [database.get(key) for key in database.scan_iter() if database.type(key) == b"string"]
    assert len(strings) >= 4
    everything = b"".join(database.dump(key) for key in database.scan_iter())
    assert not [word for word in WORDS if word in everything]
    for kind in ("man", "seg", "rec", "memo"):
        for key in database.scan_iter(match=f"*:{kind}:*"):
            with pytest.raises(ContractError):
                unpack(database.get(key))

    with_codec, without = (history(server, name) for name in (NAME, ""))
    assert with_codec["kind"] == "structured"
    assert "can't be read" in without["problem"]


def history(server: EmbeddedServer, codec: str) -> Any:
    """Return what the session command tells of the one version."""
    command = ("session", "history", "chat", "--tenant", "acme", "--codec", codec, "--json")
    (version,) = json.loads(run(*command, EBBTIDE_STATE=server.url, PYTHONPATH=ROOT).stdout)["versions"]
    return version
