"""Encryption at rest, seen from the worker: nothing it keeps is plain, and a codec's failure is nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ebbtide_core import metrics
from ebbtide_core.breaker import Breaker
from ebbtide_core.errors import ContractError
from ebbtide_core.jsonio import unpack
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store.codec import unseal
from ebbtide_worker.work import work
from tests.codecs import Broken, Keyed
from tests.host.talk import chat
from tests.store.clock import Database
from tests.store.session import stored_breaker
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy

CHUNKED = small_policy(chunk_tokens=300)
KINDS = ("man", "seg", "rec", "memo")


def kept(database: Database) -> Iterator[tuple[str, bytes]]:
    """Yield kind and value of each string that the store keeps for sessions and tenants."""
    for kind in KINDS:
        for key in database.scan_iter(match=f"ebbtide:1:*:{kind}:*"):
            yield kind, database.get(key)


async def test_nothing_that_is_kept_is_plain(make_shop: MakeShop, host: HostSide, database: Database) -> None:
    """Manifest, segments, record and memos are what the codec made of them, under the tenant's name."""
    host.codec, host.policy = Keyed(), CHUNKED
    host.enqueue(chat(20))
    assert await work(make_shop(codec=Keyed(), summariser="extractive")) == 1
    found = list(kept(database))
    assert {kind for kind, _ in found} == set(KINDS)
    content = b""
    for _, value in found:
        with pytest.raises(ContractError):
            unpack(value)
        content += unseal(host.codec, "acme", value)
    assert b"billing" in content
    assert b"billing" not in b"".join(database.dump(key) for key in database.scan_iter())
    assert host.record(1).summary_tokens


async def test_a_repeated_job_reads_its_memos_again(make_shop: MakeShop, host: HostSide) -> None:
    """Memos are decoded as they were encoded, also by another process."""
    host.codec, host.policy = Keyed(), CHUNKED
    host.enqueue(chat(20))
    await work(make_shop("w1", codec=Keyed()))
    second = HostSide(host.store, Owner("acme", "second"), CHUNKED, codec=Keyed())
    second.enqueue(chat(20))
    await work(make_shop("w2", codec=Keyed()))
    assert {chunk.status for chunk in second.record(1).coverage} == {"memoised"}


@pytest.mark.parametrize("codec", [Keyed(b"another secret"), Broken()], ids=["another key", "broken"])
async def test_uploads_that_can_not_be_decoded_end_the_job_neutral(
    make_shop: MakeShop, host: HostSide, recorder: MemoryRecorder, database: Database, codec: Any
) -> None:
    """They are damaged to this worker; the session's breaker is not touched, and nothing is published."""
    host.codec = Keyed()
    host.enqueue(chat(20))
    await work(make_shop(codec=codec))
    assert recorder.total(metrics.JOBS, "neutral", "snapshot_damaged") == 1
    assert stored_breaker(database.hgetall(host.owner.state)) == Breaker()
    assert host.turn().newest.number == 0


class OnlyReads(Keyed):
    """Decodes, but has lost what it encodes with."""

    def encode(self, tenant: str, data: bytes) -> bytes:
        """Raise."""
        raise RuntimeError("the key service is away")


async def test_what_can_not_be_encoded_ends_the_job_neutral(
    make_shop: MakeShop, host: HostSide, recorder: MemoryRecorder, database: Database
) -> None:
    """Never is it kept plain instead."""
    host.codec = Keyed()
    host.enqueue(chat(20))
    await work(make_shop(codec=OnlyReads()))
    assert recorder.total(metrics.JOBS, "neutral", "codec") == 1
    assert stored_breaker(database.hgetall(host.owner.state)) == Breaker()
    assert {kind for kind, _ in kept(database)} == {"man", "seg"}
