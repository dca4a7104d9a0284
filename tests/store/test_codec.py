"""Sealing: compressed, then encoded; whatever a codec raises is one kind of error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.errors import CodecError, ContractError
from ebbtide_core.jsonio import pack
from ebbtide_core.store.codec import PLAIN, Codec, seal, unseal
from tests.codecs import Broken, Keyed

CODECS: list[Codec] = [PLAIN, Keyed()]


@pytest.mark.parametrize("codec", CODECS, ids=["plain", "keyed"])
@given(document=st.binary(max_size=2_000), tenant=st.text(max_size=5))
def test_what_was_sealed_comes_back(codec: Codec, document: bytes, tenant: str) -> None:
    """For the same tenant."""
    assert unseal(codec, tenant, seal(codec, tenant, document)) == document


def test_without_a_codec_nothing_but_compression_happens() -> None:
    """So that a pool that had none reads what it wrote before."""
    assert seal(PLAIN, "acme", b"document") == pack(b"document")


def test_another_tenants_is_a_codec_error() -> None:
    """As with a changed byte, or with what was never encoded."""
    codec = Keyed()
    sealed = seal(codec, "acme", b"document")
    for tenant, data in (("umbrella", sealed), ("acme", sealed[:-1] + b"?"), ("acme", pack(b"document"))):
        with pytest.raises(CodecError):
            unseal(codec, tenant, data)


def test_what_is_read_without_the_codec_is_damaged() -> None:
    """A contract error, as for any other bytes that are no document."""
    with pytest.raises(ContractError, match="damaged"):
        unseal(PLAIN, "acme", seal(Keyed(), "acme", b"document" * 20))


def test_whatever_a_codec_raises_is_told_without_its_words() -> None:
    """They may repeat a key."""
    for act in (seal, unseal):
        with pytest.raises(CodecError, match="RuntimeError") as caught:
            act(Broken(), "acme", b"x")
        assert "hunter2" not in str(caught.value)


def test_a_document_that_grows_beyond_bounds_is_refused() -> None:
    """As without a codec."""
    with pytest.raises(ContractError, match="at most 10"):
        unseal(Keyed(), "acme", seal(Keyed(), "acme", bytes(1_000)), limit=10)
