"""What a host uploaded for a job, read and checked: its messages are those that the position names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import Manifest, SegmentRef, manifest_name
from ebbtide_core.dialects.base import Dialect, PlainMessage
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.errors import ContractError, InputError
from ebbtide_core.jsonio import canonical_bytes
from ebbtide_core.lineage.canonical import message_digest
from ebbtide_core.lineage.chain import link
from ebbtide_core.store import blob_calls
from ebbtide_core.store.codec import Codec, unseal
from ebbtide_core.summary.source import SourceMessage, source_message
from ebbtide_worker.patience import Patient
from ebbtide_worker.verdict import SnapshotDamaged, SnapshotGone


@dataclass(frozen=True)
class Snapshot:
    """A job's input. `messages[i]` is the lineage message `manifest.base.count + i`, `forms[i]` its canonical
    bytes.

    `released` are the messages that the base record carried and this job does not.
    """

    manifest: Manifest
    messages: tuple[SourceMessage, ...]
    forms: tuple[bytes, ...]
    released: tuple[SourceMessage, ...]

    @cached_property
    def carried(self) -> frozenset[int]:
        """Lineage indices of the messages that outlive the position: they stay in the buffer as they are."""
        return frozenset(carried.index for carried in self.manifest.carried)

    @property
    def sources(self) -> tuple[SourceMessage, ...]:
        """All messages in order, carried ones too: the active request may be one of them."""
        return (*self.released, *self.messages)

    @property
    def replaced(self) -> int:
        """How many of the messages are to be gone from the buffer."""
        return len(self.released) + sum(message.index not in self.carried for message in self.messages)


async def fetch(store: Patient, job: Job, codec: Codec) -> tuple[Manifest, tuple[bytes, ...]]:
    """Return a job's manifest and its sealed segments, in two round trips.

    Raises SnapshotGone when a part has run out or was evicted, SnapshotDamaged when the manifest is not the
    job's.
    """
    owner = job.owner
    sealed = await store.run(blob_calls.get(owner.manifest(job.manifest_id)))
    if sealed is None:
        raise SnapshotGone("the manifest is gone")
    manifest = read_manifest(sealed, job, codec)
    keys = [owner.segment(ref.digest) for ref in _references(manifest)]
    if not keys:
        return manifest, ()
    segments = await store.run(blob_calls.get_many(keys))
    present = tuple(segment for segment in segments if segment is not None)
    if len(present) < len(keys):
        raise SnapshotGone(f"{len(keys) - len(present)} of {len(keys)} segments are gone")
    return manifest, present


def _references(manifest: Manifest) -> list[SegmentRef]:
    return [*manifest.segments, *([manifest.released] if manifest.released else [])]


def read_manifest(sealed: bytes, job: Job, codec: Codec) -> Manifest:
    """Return the manifest of a job. Raises SnapshotDamaged unless it is the very one that the job names."""
    try:
        document = unseal(codec, job.tenant, sealed)
        if manifest_name(document) != job.manifest_id:
            raise SnapshotDamaged("the manifest is not the one that the job names")
        manifest = Manifest.from_json(document)
    except ContractError as error:
        raise SnapshotDamaged(f"the manifest can't be read: {error}") from None
    if (manifest.position, manifest.base_version) != (job.position, job.base_version):
        raise SnapshotDamaged("the manifest is about another position or base than the job")
    return manifest


def read_snapshot(manifest: Manifest, segments: Sequence[bytes], tenant: str, codec: Codec) -> Snapshot:
    """Return the snapshot of a tenant's manifest and its sealed segments, in the order of `fetch`.

    Raises SnapshotDamaged unless the chain over the messages leads from the base to the position, each
    message has its token count, and the released messages are those that the manifest lists.
    """
    dialect = _dialect(manifest)
    runs = [_messages(_opened(sealed, tenant, codec), dialect) for sealed in segments]
    released = runs.pop() if manifest.released else []
    values = [value for run in runs for value in run]
    forms = tuple(map(canonical_bytes, values))
    _check_segments(manifest, [len(run) for run in runs])
    _check_chain(manifest, forms)
    _check_released(manifest, released)
    return Snapshot(
        manifest=manifest,
        messages=tuple(source_message(i, v, dialect) for i, v in enumerate(values, manifest.base.count)),
        forms=forms,
        released=tuple(
            source_message(c.index, v, dialect) for c, v in zip(manifest.released_from, released, strict=True)
        ),
    )


def _dialect(manifest: Manifest) -> Dialect:
    try:
        return by_name(manifest.dialect)
    except InputError as error:
        raise SnapshotDamaged(str(error)) from None


def _opened(sealed: bytes, tenant: str, codec: Codec) -> bytes:
    try:
        return unseal(codec, tenant, sealed)
    except ContractError as error:
        raise SnapshotDamaged(f"a segment can't be read: {error}") from None


def _messages(document: bytes, dialect: Dialect) -> list[PlainMessage]:
    try:
        values: Any = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise SnapshotDamaged(f"a segment can't be read: {type(error).__name__}") from None
    if not isinstance(values, list) or not all(
        isinstance(value, dict) and dialect.role(value) for value in values
    ):
        raise SnapshotDamaged("a segment is no list of messages")
    return values


def _check_segments(manifest: Manifest, lengths: Sequence[int]) -> None:
    at = manifest.base.count
    for ref, length in zip(manifest.segments, lengths, strict=True):
        if (ref.first, ref.stop) != (at, at + length):
            raise SnapshotDamaged(f"the segment from {ref.first} to {ref.stop} is not at its place")
        at = ref.stop
    if at != manifest.position.count:
        raise SnapshotDamaged(f"the segments end at {at}, the position is at {manifest.position.count}")
    if len(manifest.tokens) != at - manifest.base.count:
        raise SnapshotDamaged(f"{len(manifest.tokens)} token counts for {at - manifest.base.count} messages")


def _check_chain(manifest: Manifest, forms: Sequence[bytes]) -> None:
    last = manifest.base.digest
    for form in forms:
        last = link(last, form)
    if last != manifest.position.digest:
        raise SnapshotDamaged("the messages are not those that the position names")


def _check_released(manifest: Manifest, released: Sequence[PlainMessage]) -> None:
    found = [message_digest(canonical_bytes(value)) for value in released]
    if found != [carried.digest for carried in manifest.released_from]:
        raise SnapshotDamaged("the released messages are not those that the manifest lists")
