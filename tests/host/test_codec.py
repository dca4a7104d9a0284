"""Encryption at rest, seen from the host: a record that it can't read is a fault, and the buffer is kept."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core.errors import ContractError
from ebbtide_core.jsonio import unpack
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import unseal
from tests.codecs import Broken, Keyed
from tests.host.conftest import MakeHost
from tests.host.publisher import manifest_of, messages_of, publish, record_of, take
from tests.host.shells import SMALL
from tests.host.talk import chat
from tests.store.clock import Database

OWNER = Owner("acme", "chat")
IMPATIENT = SMALL.model_copy(update={"wait_budget": 0.0})


def recoded(database: Database, key: str, codec: Keyed, tenant: str = "acme") -> None:
    """Put a plain value back as the codec encodes it."""
    database.set(key, codec.encode(tenant, database.get(key)), keepttl=True)


def plain_job(store: SyncStore, database: Database, codec: Keyed) -> Any:
    """Take the next job and publish its record, plain: what a host uploaded is decoded before."""
    for key in [*database.scan_iter(match="*:man:*"), *database.scan_iter(match="*:seg:*")]:
        database.set(key, codec.decode("acme", database.get(key)), keepttl=True)
    job = take(store)
    assert job is not None
    manifest = manifest_of(store, job)
    return publish(store, job, record_of(job, manifest, messages_of(store, job, manifest)))


def test_uploads_are_encoded_for_the_tenant(
    make_host: MakeHost, worker_store: SyncStore, database: Database
) -> None:
    """Nothing plain leaves the host."""
    codec = Keyed()
    host = make_host(policy=IMPATIENT, codec=codec)
    host.prepare(chat(27))
    assert host.flush()
    uploads = [*database.scan_iter(match="*:man:*"), *database.scan_iter(match="*:seg:*")]
    assert len(uploads) > 1
    for key in uploads:
        value = database.get(key)
        with pytest.raises(ContractError):
            unpack(value)
        assert unseal(codec, "acme", value)
    assert set(codec.asked) == {"acme"}


def test_a_record_is_decoded_and_swapped_in(
    make_host: MakeHost, worker_store: SyncStore, database: Database
) -> None:
    """As one that is not encoded is without a codec."""
    codec = Keyed()
    host = make_host(policy=IMPATIENT, codec=codec)
    host.prepare(chat(27))
    assert host.flush()
    assert plain_job(worker_store, database, codec).version == 1
    recoded(database, OWNER.record(1), codec)
    assert host.prepare(chat(40)).swap is not None


@pytest.mark.parametrize("mine", [None, Keyed(b"another secret"), Broken()], ids=["none", "other", "broken"])
def test_a_record_that_can_not_be_decoded_is_a_fault(
    make_host: MakeHost, worker_store: SyncStore, database: Database, mine: Any
) -> None:
    """The turn goes on without it, and the buffer is kept as it was."""
    codec = Keyed()
    writer = make_host(policy=IMPATIENT, codec=codec)
    writer.prepare(chat(27))
    assert writer.flush()
    plain_job(worker_store, database, codec)
    recoded(database, OWNER.record(1), codec)
    reader = make_host(policy=IMPATIENT, codec=mine)
    turn = reader.prepare(chat(40))
    assert turn.swap is None
    assert turn.buffer == chat(40)
    assert any("record 1" in fault for fault in turn.report.faults)
    assert "hunter2" not in repr(turn.report)


def test_a_record_encoded_for_another_tenant_is_a_fault(
    make_host: MakeHost, worker_store: SyncStore, database: Database
) -> None:
    """A codec that has a key for each tenant keeps them apart even where the store would not."""
    codec = Keyed()
    host = make_host(policy=IMPATIENT, codec=codec)
    host.prepare(chat(27))
    assert host.flush()
    plain_job(worker_store, database, codec)
    recoded(database, OWNER.record(1), codec, tenant="umbrella")
    turn = host.prepare(chat(40))
    assert turn.swap is None
    assert any("record 1" in fault for fault in turn.report.faults)


def test_what_can_not_be_encoded_is_not_uploaded(
    make_host: MakeHost, worker_store: SyncStore, database: Database
) -> None:
    """This turn or the next tells; the session goes on."""
    host = make_host(policy=IMPATIENT, codec=Broken())
    reports = [host.prepare(chat(27)).report]
    assert host.flush()
    reports.append(host.prepare(chat(27)).report)
    assert any("could not encode" in fault for report in reports for fault in report.faults)
    assert "hunter2" not in repr(reports)
    assert not [*database.scan_iter(match="*:seg:*"), *database.scan_iter(match="*:man:*")]
    assert worker_store.run(blob_calls.record_get(OWNER, 1)) is None
    assert worker_store.run(session_calls.look(OWNER)) is not None
