"""A server behind its proxy keeps its data, freezes, and loses its data, as told; the probe looks past it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from chaos.backend import Backend
from chaos.mending import Mending
from chaos.probe import Probe, untidy

from ebbtide_core import names
from ebbtide_core.contract.job import After
from ebbtide_core.names import Owner
from ebbtide_core.store.client import SyncStore
from tests.store.session import Driver
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

OWNER = Owner("acme", "h0s0")


@pytest.fixture(scope="module")
def shared() -> Iterator[Backend]:
    """One for the tests of this file."""
    with Backend() as backend:
        yield backend


@pytest.fixture
def backend(shared: Backend) -> Backend:
    """The file's server, empty."""
    with client(shared.direct) as direct:
        direct.flushall()
    return shared


@pytest.fixture
def session(backend: Backend) -> Iterator[Driver]:
    """A session of that server."""
    store = SyncStore(backend.direct, timeout=10.0)
    yield Driver(store, OWNER)
    store.close()


def client(url: str) -> Any:
    """Return a client that waits a little and never asks twice."""
    return redis.Redis.from_url(url, socket_timeout=0.3, decode_responses=True, retry=None)


def answers(url: str) -> bool:
    """Say whether a server answers at once."""
    with client(url) as asked:
        try:
            return bool(asked.ping())
        except redis.RedisError:
            return False


def test_a_frozen_server_does_not_answer_until_it_thaws(backend: Backend) -> None:
    """Through the proxy and past it; thawing twice does nothing."""
    backend.freeze()
    assert not answers(backend.url)
    assert not answers(backend.direct)
    backend.thaw()
    backend.thaw()
    wait_until(lambda: answers(backend.url), "it answers")


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_server_comes_back_at_its_address_with_or_without_its_data(
    backend: Backend, how: str, kept: bool
) -> None:
    """As it was ended."""
    with client(backend.url) as asked:
        asked.set("word", "here", ex=600)
    getattr(backend, how)()
    assert not answers(backend.url)
    (backend.start if kept else backend.start_empty)()
    with client(backend.url) as asked:
        assert asked.get("word") == ("here" if kept else None)


def test_the_proxy_stands_between_clients_and_the_server(backend: Backend) -> None:
    """What looks from outside passes it by."""
    backend.proxy.refuse()
    assert not answers(backend.url)
    assert answers(backend.direct)
    backend.proxy.accept()
    assert answers(backend.url)


def test_the_probe_sees_each_version_once_and_outlives_the_server(backend: Backend, session: Driver) -> None:
    """Each with the time between two looks in which it came."""
    session.turn()
    with Probe(backend.direct, [OWNER, Owner("acme", "none")]) as probe:
        session.publish(10)
        wait_until(lambda: len(probe.sightings) == 1, "the first version is seen")
        backend.kill()
        assert not probe.idle()
        backend.start()
        session.publish(20, after=After(number=1, body="body-10"))
        wait_until(lambda: len(probe.sightings) == 2, "the second version is seen")
        assert probe.idle()
        probe.stop()
    assert [(s.session, s.version, s.body) for s in probe.sightings] == [
        ("h0s0", 1, "body-10"),
        ("h0s0", 2, "body-20"),
    ]
    first, second = probe.sightings
    assert first.since < first.at < second.at
    assert first.since < second.since < second.at


def test_blocks_are_lifted_for_a_while_once_an_account_is_mended(backend: Backend, session: Driver) -> None:
    """Of all tenants and accounts, also when the store was away at first; nothing else goes."""
    session.turn()
    mending, gone = (
        Mending(["acme"]),
        [names.tenant_block("acme"), names.account("one"), names.account("two")],
    )

    def lifted() -> bool:
        mending.tick(backend.direct)
        with client(backend.direct) as direct:
            return not direct.exists(*gone)

    with client(backend.direct) as direct:
        for key in gone:
            direct.set(key, "blocked", ex=600)
    mending.tick(backend.direct)
    with client(backend.direct) as direct:
        assert direct.exists(*gone) == len(gone)
    backend.freeze()
    mending.begin()
    mending.tick(backend.direct)
    backend.thaw()
    wait_until(lifted, "the blocks are lifted")
    with client(backend.direct) as direct:
        assert direct.exists(OWNER.state) == 1


def test_keys_that_never_run_out_are_found_but_for_those_that_need_not(
    backend: Backend, session: Driver
) -> None:
    """What tenants and the fleet are told stays until it is taken back."""
    session.turn()
    with client(backend.direct) as direct:
        for key in (names.tenant_policy("acme"), names.fleet("limits"), names.fleet("default")):
            direct.set(key, "x")
        assert untidy(backend.direct, ["acme"]) == []
        direct.set(names.memo("acme", "x"), "x")
        direct.set(names.tenant_policy("other"), "x")
    assert untidy(backend.direct, ["acme"]) == sorted([names.memo("acme", "x"), names.tenant_policy("other")])
