"""Canonical form: the bytes of a message that are hashed, uploaded and summarised; one for host and
worker."""

from __future__ import annotations

from ebbtide_core.dialects.base import Dialect, PlainMessage
from ebbtide_core.jsonio import canonical_bytes, canonical_form, digest


def canonical(message: PlainMessage, dialect: Dialect) -> bytes:
    """Return the canonical form of a plain message: sorted keys, no spaces, UTF-8, marks and nulls left
    out."""
    return canonical_bytes(dialect.canonical(message))


def canonical_or_repaired(message: PlainMessage, dialect: Dialect) -> tuple[bytes, bool]:
    """Return the canonical form, and whether the message holds lone surrogates, which it replaces."""
    return canonical_form(dialect.canonical(message))


def message_digest(canonical_form: bytes) -> str:
    """Return the name of one message by itself (32 hex digits), wherever it stands."""
    return digest(b"ebbtide/message/1", canonical_form).hex()
