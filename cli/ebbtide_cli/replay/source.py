"""The lines of a file, plain or gzip, within limits."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from ebbtide_cli.replay.transcript import Fault

MAX_FILE_BYTES: Final = 1 << 30
MAX_LINE_BYTES: Final = 256 << 20
"""Decompressed sizes that one file and one line of it may have."""

_GZIP_MAGIC: Final = b"\x1f\x8b"


class SourceFault(Exception):
    """The rest of the file can't be had: `kind` and `detail` say why."""

    def __init__(self, kind: Fault, detail: str) -> None:
        self.kind = kind
        self.detail = detail
        super().__init__(detail)


def lines(
    path: Path, *, max_file: int = MAX_FILE_BYTES, max_line: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with numbers from 1. Raises SourceFault, after the good ones."""
    try:
        with _opened(path) as stream:
            yield from _bounded(stream, max_file, max_line)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise SourceFault(Fault.BAD_GZIP, f"{error}; what came before it was read") from error
    except OSError as error:
        raise SourceFault(Fault.UNREADABLE, error.strerror or str(error)) from error


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as probe:
        packed = probe.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    if packed:
        return cast("BinaryIO", gzip.open(path, "rb"))
    if path.suffix == ".gz" and path.stat().st_size:
        raise SourceFault(Fault.BAD_GZIP, "named .gz, but not compressed by gzip")
    return path.open("rb")


def _bounded(stream: BinaryIO, max_file: int, max_line: int) -> Iterator[tuple[int, bytes]]:
    left, number = max_file, 0
    while line := stream.readline(max_line + 1):
        number += 1
        left -= len(line)
        if len(line) > max_line:
            raise SourceFault(Fault.TOO_LARGE, f"line {number} is longer than {max_line:,} bytes")
        if left < 0:
            raise SourceFault(Fault.TOO_LARGE, f"more than {max_file:,} bytes decompressed")
        if line.strip():
            yield number, line
