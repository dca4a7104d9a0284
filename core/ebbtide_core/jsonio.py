"""JSON in and out: plain values of foreign objects, canonical bytes, digests, compressed documents."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

import zstandard

from ebbtide_core.errors import ContractError, InputError

DIGEST_BYTES: Final = 16
MAX_DEPTH: Final = 200
MAX_INTEGER_BITS: Final = 14_000
"""About 4,200 digits: what Python writes and reads as a decimal."""

MAX_DOCUMENT_BYTES: Final = 64 << 20

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_DUMPERS: Final = ("model_dump", "to_dict", "dict")
_SCALARS: Final = frozenset((str, bool, type(None)))

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_SORTED: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True)
"""Made once: a call of `json.dumps` with options makes an encoder each time."""


def plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and None; the value itself if it is so
    already.

    Objects of a provider's SDK go through their own dump. Raises InputError, naming the path, for anything
    that JSON can't hold: other objects, keys that are no strings, NaN and infinities, integers of thousands
    of digits, too deep nesting.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return _plain_int(value, path)
    if depth >= MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels", path=path)
    if kind is dict:
        return _plain_dict(value, path, depth + 1)
    if kind is list:
        return _plain_list(value, path, depth + 1)
    return _plain_other(value, path, depth + 1)


def _plain_dict(value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
    changed: dict[str, Any] | None = None
    for key, item in value.items():
        if type(key) is not str:
            raise InputError(f"key {key!r} is not a string", path=path)
        if type(item) in _SCALARS:
            continue
        new = plain(item, f"{path}.{key}" if path else key, depth)
        if new is not item:
            changed = dict(value) if changed is None else changed
            changed[key] = new
    return value if changed is None else changed


def _plain_list(value: list[Any], path: str, depth: int) -> list[Any]:
    items = [
        item if type(item) in _SCALARS else plain(item, f"{path}[{i}]", depth) for i, item in enumerate(value)
    ]
    return value if all(map(operator.is_, items, value)) else items


def _plain_int(value: int, path: str) -> int:
    if value.bit_length() > MAX_INTEGER_BITS:
        raise InputError(f"an integer of more than {MAX_INTEGER_BITS} bits", path=path)
    return value


def _plain_other(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError("not a JSON number", path=path)
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _plain_int(int.__int__(value), path)
    if isinstance(value, Mapping):
        return _plain_dict(dict(value), path, depth)
    if isinstance(value, list | tuple):
        return _plain_list(list(value), path, depth)
    for name in _DUMPERS:
        dump = getattr(value, name, None)
        if callable(dump) and not isinstance(value, type):
            return plain(_dumped(dump, path), path, depth)
    raise InputError(f"{type(value).__name__} is not JSON", path=path)


def _dumped(dump: Callable[..., Any], path: str) -> Any:
    try:
        return dump(mode="json") if getattr(dump, "__name__", "") == "model_dump" else dump()
    except Exception as error:
        raise InputError(f"its own dump failed: {error}", path=path) from error


def equal(value: Any, other: Any) -> bool:
    """Say whether two values are equal; not so when a foreign object's own comparison fails."""
    try:
        return bool(value == other)
    except Exception:  # noqa: BLE001  such a comparison may do anything
        return False


def well_formed(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD."""
    return _SURROGATES.sub("\ufffd", text) if not text.isascii() else text


def compact(value: Any) -> str:
    """Return plain JSON without spaces, keys in their order, non-ASCII kept, lone surrogates replaced."""
    return well_formed(_COMPACT.encode(value))


def canonical_bytes(value: Any) -> bytes:
    """Return plain JSON with sorted keys, no spaces, in UTF-8, lone surrogates replaced."""
    return canonical_form(value)[0]


def canonical_form(value: Any) -> tuple[bytes, bool]:
    """Return what `canonical_bytes` returns, and whether lone surrogates were replaced."""
    text = _SORTED.encode(value)
    try:
        return text.encode(), False
    except UnicodeEncodeError:
        return well_formed(text).encode(), True


def repaired(value: Any) -> Any:
    """Return a copy of plain JSON with each lone surrogate replaced by U+FFFD."""
    return json.loads(compact(value))


def digest(domain: bytes, *parts: bytes) -> bytes:
    """Return the 16-byte blake2b of the parts, each framed by its length, under a domain name."""
    h = blake2b(domain, digest_size=DIGEST_BYTES)
    for part in parts:
        h.update(len(part).to_bytes(8, "big"))
        h.update(part)
    return h.digest()


def pack(document: bytes) -> bytes:
    """Return the document compressed with zstd."""
    return zstandard.ZstdCompressor(level=3).compress(document)


def unpack(data: bytes, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """Return what `pack` compressed. Raises ContractError when damaged or larger than `limit` bytes."""
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= limit:
            raise ContractError(f"compressed document of {size} bytes, at most {limit} allowed")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=limit)
    except zstandard.ZstdError as error:
        raise ContractError(f"damaged compressed document: {error}") from error
