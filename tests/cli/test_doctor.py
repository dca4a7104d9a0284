"""`ebbtide doctor`: what works is ok, what does not fails and says what to do."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ebbtide_cli.doctor.checks import all_findings, broker_reached, state_store, summariser
from ebbtide_cli.doctor.finding import Finding, Grade
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.settings import Settings
from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from tests.cli.command import run
from tests.store.clock import Clock, Database

SECRET = "a-key-that-nobody-may-see"


@pytest.fixture
def dead_url() -> Iterator[str]:
    """The URL of a port on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"redis://:{SECRET}@127.0.0.1:{taken.getsockname()[1]}/0"


def graded(findings: Any) -> dict[str, Finding]:
    """Return findings by what was looked at."""
    return {finding.check: finding for finding in findings}


def test_a_pool_that_works_is_ok(server: EmbeddedServer, database: Database) -> None:
    """On a fresh server every line is ok, but for packages that are not installed."""
    settings = Settings.read(state=server.url, broker=server.url)
    found = graded(all_findings(settings))
    assert {f.check for f in found.values() if f.grade is Grade.FAIL} == set()
    for check in ("state", "server", "eviction", "scripts", "index", "broker", "tokenizer", "summariser"):
        assert found[check].grade is Grade.OK, found[check]


def test_servers_that_do_not_answer_fail_without_showing_a_password(dead_url: str) -> None:
    """The line says which URL and what to do."""
    found = graded([*state_store(dead_url), broker_reached(dead_url)])
    for check in ("state", "broker"):
        assert found[check].grade is Grade.FAIL
        assert found[check].do
    assert SECRET not in repr(found)


@pytest.mark.parametrize("url", ["http://x", "nonsense", "redis://[", "redis://nosuchhost.invalid:1/0"])
def test_a_wrong_url_fails(url: str) -> None:
    """It is told as a wrong URL or an unreachable server, and never raises."""
    findings = [*state_store(url), broker_reached(url)]
    assert [f.grade for f in findings] == [Grade.FAIL, Grade.FAIL]


def test_a_server_that_evicts_fails(server: EmbeddedServer, database: Database) -> None:
    """State that may vanish is no state."""
    database.config_set("maxmemory-policy", "allkeys-lru")
    try:
        finding = graded(state_store(server.url))["eviction"]
    finally:
        database.config_set("maxmemory-policy", "noeviction")
    assert finding.grade is Grade.FAIL
    assert "noeviction" in finding.do


def test_jobs_that_nobody_takes_are_told(server: EmbeddedServer, store: SyncStore, clock: Clock) -> None:
    """An index that is not emptied asks for workers."""
    clock.now_ms = 1_000_000
    clock.write()
    job = Job(
        job_id="j",
        tenant="t",
        session_id="s",
        incarnation="i",
        generation=0,
        epoch=1,
        after=After(number=0, body=""),
        base_version=0,
        position=Position(1, b"0" * 16),
        manifest_id="m",
        urgency=Urgency.LO,
        remaining_ms=1,
    )
    store.run(fleet_calls.enqueue(job, ttl=600))
    finding = graded(state_store(server.url))["index"]
    assert finding.grade is Grade.WARN
    assert "ebbtide worker" in finding.do


def test_an_unknown_summariser_fails() -> None:
    """The known ones are listed."""
    (finding,) = summariser(Settings.read(summariser="magic"))
    assert finding.grade is Grade.FAIL
    assert "extractive" in finding.found


def test_the_command_prints_lines_and_fails_when_something_does(
    server: EmbeddedServer, dead_url: str
) -> None:
    """Exit code 0 when nothing fails, 1 when something does; the key is looked for and never shown."""
    fine = run("doctor", "--state", server.url, ANTHROPIC_API_KEY=SECRET)
    assert fine.returncode == 0, fine.stdout
    assert "ANTHROPIC_API_KEY is set" in fine.stdout
    failed = run("doctor", EBBTIDE_STATE=dead_url, ANTHROPIC_API_KEY=SECRET)
    assert failed.returncode == 1
    assert "fail  state" in failed.stdout
    assert "→ start the server" in failed.stdout
    assert SECRET not in fine.stdout + fine.stderr + failed.stdout + failed.stderr


def test_json_holds_the_same(server: EmbeddedServer) -> None:
    """Each finding has its grade and what to do."""
    done = run("doctor", "--json", EBBTIDE_STATE=server.url)
    findings = json.loads(done.stdout)
    assert {"check", "grade", "found", "do"} == set(findings[0])
    assert {f["check"] for f in findings} >= {"state", "broker", "tokenizer", "key"}
