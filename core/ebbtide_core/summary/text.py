"""Cutting and comparing text: limits count code points, cuts fall on grapheme borders."""

from __future__ import annotations

import unicodedata
from typing import Final

from ebbtide_core.jsonio import well_formed

ELLIPSIS: Final = "…"
_JOINER: Final = "\u200d"
_EXTENDING: Final = frozenset({"Mn", "Me", "Mc"})
_MAX_CLUSTER: Final = 64
_MAX_EDGE: Final = 300
_EDGES: Final = " \t\r\n.,;:!?…。！？、；：\"'`*_"


def border(text: str, at: int) -> int:
    """Return the grapheme border at or before an index; clusters are looked at up to 64 code points long."""
    if at >= len(text):
        return len(text)
    for index in range(at, max(0, at - _MAX_CLUSTER), -1):
        if not _joined(text, index):
            return index
    return at if at > _MAX_CLUSTER else 0


def _joined(text: str, index: int) -> bool:
    """Say whether a cut before the character at the index would split what is read as one."""
    before, after = text[index - 1], text[index]
    if before == "\r" and after == "\n":
        return True
    if _JOINER in (before, after) or _extends(after):
        return True
    return _regional(before) and _regional(after) and _regional_run(text, index) % 2 == 1


def _extends(char: str) -> bool:
    code = ord(char)
    if code < 0x300:
        return False
    return (
        0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or 0x1160 <= code <= 0x11FF
        or unicodedata.category(char) in _EXTENDING
    )


def _regional(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _regional_run(text: str, index: int) -> int:
    """Count the flag letters right before the index, as far as a cluster is looked at."""
    start = index
    while start > max(0, index - _MAX_CLUSTER) and _regional(text[start - 1]):
        start -= 1
    return index - start


def clipped(text: str, limit: int) -> str:
    """Return the text, or its beginning and an ellipsis: at most `limit` code points (at least 1)."""
    if len(text) <= limit:
        return text
    return text[: border(text, max(0, limit - len(ELLIPSIS)))] + ELLIPSIS


def normalised(text: str) -> str:
    """Return what two wordings of one item share: case, width, spaces and closing punctuation left out."""
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(_EDGES) or words


def head_tail(text: str, head: int, tail: int) -> str:
    """Return the text without lone surrogates, and without its middle when longer than `head` + `tail`.

    Both parts end at white space if there is some near the cut, so that no half word looks like a whole one.
    The cut is one newline.
    """
    if len(text) <= head + tail:
        return well_formed(text)
    return well_formed(f"{_until_space(text[:head])}\n{_from_space(text[-tail:])}")


def _until_space(text: str) -> str:
    kept = text.rsplit(None, 1)[0] if len(text.split(None, 1)) > 1 else text
    return kept if len(text) - len(kept) <= _MAX_EDGE else text


def _from_space(text: str) -> str:
    parts = text.split(None, 1)
    return parts[1] if len(parts) > 1 and len(text) - len(parts[1]) <= _MAX_EDGE else text
