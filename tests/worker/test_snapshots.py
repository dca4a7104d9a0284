"""Reading what a host uploaded: each way in which it may not be what the job names is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ebbtide import mark
from ebbtide.turns.order import Upload, upload
from ebbtide_core.contract.job import After, Job
from ebbtide_core.contract.manifest import Manifest, manifest_name
from ebbtide_core.contract.record import Carried
from ebbtide_core.jsonio import pack
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store.codec import PLAIN
from ebbtide_worker.shop import Shop
from ebbtide_worker.snapshot import read_manifest, read_snapshot
from ebbtide_worker.verdict import SnapshotDamaged
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted


@pytest.fixture
def uploaded(host: HostSide) -> Upload:
    """An upload of several segments."""
    host.policy = small_policy(segment_bytes=2_000)
    made = upload(host.order(chat(20)))
    assert len(made.manifest.segments) > 2
    return made


def packed(made: Upload) -> list[bytes]:
    """Return the upload's segments in order."""
    return [pack(made.contents[ref.digest]) for ref in made.manifest.segments]


def changed(manifest: Manifest, **fields: Any) -> Manifest:
    """Return the manifest with other fields."""
    return manifest.model_copy(update=fields)


def test_an_upload_reads_back_as_its_messages(uploaded: Upload) -> None:
    """Indices, roles and texts are those of the conversation."""
    snapshot = read_snapshot(uploaded.manifest, packed(uploaded), "acme", PLAIN)

    original = chat(20)[: len(snapshot.messages)]
    assert [m.index for m in snapshot.messages] == list(range(len(original)))
    assert [m.role for m in snapshot.messages] == [m["role"] for m in original]
    assert [m.blocks[0].text for m in snapshot.messages] == [m["content"] for m in original]


def test_segments_in_another_order_are_noticed(uploaded: Upload) -> None:
    """The chain holds for one order only."""
    first, second, *rest = packed(uploaded)
    with pytest.raises(SnapshotDamaged):
        read_snapshot(uploaded.manifest, [second, first, *rest], "acme", PLAIN)


def test_a_changed_message_is_noticed(uploaded: Upload) -> None:
    """One other character is another history."""
    rest = packed(uploaded)[1:]
    content = uploaded.contents[uploaded.manifest.segments[0].digest].replace(b"Postgres", b"Postgras")
    with pytest.raises(SnapshotDamaged, match="not those that the position names"):
        read_snapshot(uploaded.manifest, [pack(content), *rest], "acme", PLAIN)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tokens": (1, 2, 3)}, "3 token counts"),
        ({"position": Position(99, bytes(16))}, "the position is at 99"),
        ({"base": Position(1, bytes(16))}, "not at its place"),
        ({"dialect": "klingon"}, "unknown dialect"),
        ({"released_from": (Carried(index=1, digest="0" * 32),)}, "released messages"),
    ],
)
def test_a_manifest_that_does_not_fit_is_noticed(uploaded: Upload, fields: dict[str, Any], told: str) -> None:
    """Figures that contradict the segments are damage, told in words."""
    with pytest.raises(SnapshotDamaged, match=told):
        read_snapshot(changed(uploaded.manifest, **fields), packed(uploaded), "acme", PLAIN)


def test_a_manifest_of_a_newer_minor_version_is_read(host: HostSide, uploaded: Upload) -> None:
    """Fields that this version does not know change the manifest's name, not its being read."""
    document = json.dumps({**json.loads(uploaded.manifest.to_json()), "novelty": 1}).encode()
    order = host.order(chat(20))
    job = order.job(1, After(number=0, body=""), manifest_name(document))

    assert read_manifest(pack(document), job, PLAIN) == uploaded.manifest


def test_a_manifest_about_another_position_is_noticed(host: HostSide, uploaded: Upload) -> None:
    """The job and its manifest must name the same position."""
    document = uploaded.manifest.to_json()
    job: Job = host.order(chat(20)).job(1, After(number=0, body=""), manifest_name(document))
    other = job.model_copy(update={"position": Position(3, bytes(16))})

    with pytest.raises(SnapshotDamaged, match="another position"):
        read_manifest(pack(document), other, PLAIN)


async def test_a_message_that_is_pinned_is_carried_and_later_released(
    shop: Shop, host: HostSide, scripted: Scripted
) -> None:
    """A pinned message is shown to no call; once the host unpins it, the next job begins with it."""
    messages: list[Any] = chat(20)
    messages[3] = mark(messages[3], pinned=True)
    host.enqueue(messages)
    await work(shop)
    first = host.record(1)
    assert [c.index for c in first.carried] == [3]
    assert 3 not in [m.index for chunk in scripted.chunks for m in chunk.messages]
    kept = [mark(m, pinned=False) if m.get("ebbtide") else m for m in host.swapped(messages, first)] + chat(
        20
    )[1:]
    scripted.chunks.clear()

    host.enqueue(kept)
    await work(shop)

    second = host.record(2)
    assert [c.index for c in second.released] == [3]
    assert second.carried == ()
    assert scripted.chunks[0].label == "earlier message 3"
    assert [m.index for m in scripted.chunks[0].messages] == [3]
    assert second.coverage[0].first == first.position.count
