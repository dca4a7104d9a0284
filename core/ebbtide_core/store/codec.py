"""How content is kept at rest: compressed, then encoded by a codec that the platform may give."""

from __future__ import annotations

from typing import Final, Protocol

from ebbtide_core.errors import CodecError
from ebbtide_core.jsonio import MAX_DOCUMENT_BYTES, pack, unpack


class Codec(Protocol):
    """Encodes what the state store keeps of a tenant's conversations: segments, manifests, records, memos.

    Hosts, workers and the session command of one pool need the same one. It is called from several threads
    and event loops, on the path of a turn too: it should do no I/O. What it encoded it must be able to decode
    for as long as it is kept (`state_ttl`, `upload_ttl`), whatever keys are in use by then. Either method may
    raise anything: that is a fault of the store to whoever asked.
    """

    def encode(self, tenant: str, data: bytes) -> bytes:
        """Return the bytes to keep for a tenant."""

    def decode(self, tenant: str, data: bytes) -> bytes:
        """Return what `encode` was given for this tenant. Raises ContractError when it can't."""


class PlainCodec:
    """Keeps the compressed bytes as they are."""

    def encode(self, tenant: str, data: bytes) -> bytes:
        """Return the data."""
        return data

    def decode(self, tenant: str, data: bytes) -> bytes:
        """Return the data."""
        return data


PLAIN: Final = PlainCodec()


def seal(codec: Codec, tenant: str, document: bytes) -> bytes:
    """Return a tenant's document as it is kept. Raises CodecError when the codec fails."""
    try:
        return codec.encode(tenant, pack(document))
    except Exception as error:
        raise CodecError(f"the codec could not encode: {type(error).__name__}") from error


def unseal(codec: Codec, tenant: str, data: bytes, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the document that `seal` was given.

    Raises CodecError when the codec fails, ContractError when what it gives is damaged or larger than `limit`
    bytes.
    """
    try:
        packed = codec.decode(tenant, data)
    except Exception as error:
        raise CodecError(f"the codec could not decode: {type(error).__name__}") from error
    return unpack(packed, limit)
