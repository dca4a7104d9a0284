"""Codecs of tests: one with a key for each tenant, as strict as a real cipher, and one that fails."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import blake2b, shake_256
from secrets import token_bytes

from ebbtide_core.errors import ContractError

_NONCE = 16
_TAG = 16


@dataclass
class Keyed:
    """A keystream by SHAKE-256 over a nonce, and a tag over both; the key is made of secret and tenant.

    `asked` are the tenants of all calls.
    """

    secret: bytes = b"of these tests"
    asked: list[str] = field(default_factory=list)

    def encode(self, tenant: str, data: bytes) -> bytes:
        """Return nonce, tag, and the data under the keystream."""
        self.asked.append(tenant)
        nonce = token_bytes(_NONCE)
        hidden = self._under(tenant, nonce, data)
        return nonce + self._tag(tenant, nonce + hidden) + hidden

    def decode(self, tenant: str, data: bytes) -> bytes:
        """Return the data. Raises ContractError when another key was used, or a bit was changed."""
        self.asked.append(tenant)
        nonce, tag, hidden = data[:_NONCE], data[_NONCE : _NONCE + _TAG], data[_NONCE + _TAG :]
        if not hmac.compare_digest(tag, self._tag(tenant, nonce + hidden)):
            raise ContractError("not encoded for this tenant")
        return self._under(tenant, nonce, hidden)

    def _key(self, tenant: str) -> bytes:
        return blake2b(tenant.encode(), key=self.secret).digest()

    def _tag(self, tenant: str, data: bytes) -> bytes:
        return blake2b(data, key=self._key(tenant), digest_size=_TAG).digest()

    def _under(self, tenant: str, nonce: bytes, data: bytes) -> bytes:
        stream = shake_256(self._key(tenant) + nonce).digest(len(data))
        return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def keyed() -> Keyed:
    """Return the codec of these tests."""
    return Keyed()


class Broken:
    """Fails, with words that nobody may see."""

    def encode(self, tenant: str, data: bytes) -> bytes:
        """Raise."""
        raise RuntimeError(f"key of {tenant} is hunter2")

    def decode(self, tenant: str, data: bytes) -> bytes:
        """Raise."""
        raise RuntimeError(f"key of {tenant} is hunter2")
