"""Redis with TLS and ACL users, state store and broker: the users of the operations page suffice."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.doctor.checks import broker_reached, state_store
from ebbtide_cli.doctor.finding import Grade
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.permits import QUEUE, PermitSender
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from tests.brokers.fleet import TENANT, Fleet, fleet, send_one, until_met
from tests.brokers.page import acl_lines, rules
from tests.brokers.tls_redis import BINARY, PASSWORD, TlsRedis
from tests.cli.command import run
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        BINARY is None, reason="no redis-server is installed; `make test-brokers` installs it"
    ),
]

HOST, WORKER, OPERATOR, BROKER = "ebbtide-host", "ebbtide-worker", "ebbtide-operator", "ebbtide-broker"
LOST = "a-permit-of-a-worker-that-died"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsRedis]:
    """A server with the users of the page."""
    with TlsRedis(tmp_path_factory.mktemp("redis")) as server:
        for line in acl_lines().values():
            server.allow(line)
        yield server


@pytest.fixture
def pool(server: TlsRedis, tmp_path: Path) -> Iterator[Fleet]:
    """Host and worker, each as a user of its own; a permit waits that a dead worker took."""
    host, worker = ((server.url(BROKER), server.url(user)) for user in (HOST, WORKER))
    lose_a_permit(server)
    with fleet(tmp_path, host=host, worker=worker) as running:
        yield running


def lose_a_permit(server: TlsRedis) -> None:
    """Leave a permit behind as a worker does that dies with it, long ago."""
    sender = PermitSender(server.url(BROKER))
    send_one(sender)
    sender.close()
    with server.admin() as admin:
        message = json.loads(admin.rpop(QUEUE))
        admin.hset("unacked", LOST, json.dumps([message, "", QUEUE]))
        admin.zadd("unacked_index", {LOST: time.time() - 86_400})


def test_users_of_the_page_suffice_before_and_after_a_restart(server: TlsRedis, pool: Fleet) -> None:
    """Compactions work, the server is killed and started, they work again; the server refused nothing."""
    pool.compacts("first")
    session = pool.session("outage")

    server.kill()
    until_met(pool, session, lambda faults: any("did not answer" in f for f in faults), "the loss is met")
    assert PASSWORD not in repr(pool.faults)
    server.start()

    pool.compacts("second")
    with server.admin() as admin:
        assert admin.exists(Owner(TENANT, "first").record(1)), "what the first life wrote is gone"
        wait_until(lambda: not admin.exists("unacked"), "the dead worker's permit is given out again")
    assert server.refusals() == []


def test_an_operator_looks_and_forgets(server: TlsRedis, pool: Fleet) -> None:
    """`ebbtide session` and `ebbtide doctor`; the server refused nothing."""
    pool.compacts("by-hand")
    url = server.url(OPERATOR)
    assert "by-hand" in run("session", "list", "--state", url).stdout
    forgotten = run("session", "forget", "by-hand", "--tenant", TENANT, "--yes", "--state", url)
    assert forgotten.returncode == 0, forgotten.stderr
    assert {f.grade for f in (*state_store(url), broker_reached(server.url(BROKER)))} == {Grade.OK}
    assert server.refusals() == []


def test_one_url_serves_both(server: TlsRedis, tmp_path: Path) -> None:
    """A user with the rules of two: its URL is that of state store and broker."""
    both = ["ACL", "SETUSER", "both", "reset", "on", f">{PASSWORD}", *rules(WORKER)[2:], *rules(BROKER)[2:]]
    server.allow(" ".join(both))
    url = server.url("both")
    with fleet(tmp_path, host=(url, ""), worker=(url, "")) as running:
        running.compacts("one-url")
    assert server.refusals() == []


@pytest.mark.parametrize("user", [HOST, BROKER])
def test_a_certificate_of_an_unknown_authority_is_refused(server: TlsRedis, user: str) -> None:
    """By the state store's client and by the broker's, without being told to."""
    bare = server.bare_url(user)
    store, sender = SyncStore(bare, timeout=5.0), PermitSender(bare)
    with pytest.raises(StoreUnavailable, match="certificate verify failed") as caught:
        store.run(session_calls.look(Owner(TENANT, "x")))
    with pytest.raises(Exception, match="certificate verify failed"):
        sender.send()
    store.close()
    sender.close()
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("user", [HOST, WORKER])
def test_a_user_of_the_state_sees_nothing_else(server: TlsRedis, user: str) -> None:
    """Neither other keys, nor the broker's, nor the server's settings."""
    attempts: list[tuple[Any, ...]] = [("GET", "other"), ("LLEN", QUEUE), ("KEYS", "*"), ("FLUSHALL",)]
    with server.admin() as admin:
        for command in attempts:
            told = admin.execute_command("ACL", "DRYRUN", user, *command)
            assert "no permissions" in str(told), command
