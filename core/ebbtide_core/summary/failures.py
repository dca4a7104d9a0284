"""Errors in the results of calls: the lines that say what failed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ebbtide_core.summary.model import MAX_ITEM_CHARS
from ebbtide_core.summary.text import head_tail
from ebbtide_core.summary.words import phrases

HEAD_CHARS: Final = 8_000
TAIL_CHARS: Final = 12_000
MAX_LINES: Final = 3
_MAX_LINE_CHARS: Final = 2_000

_SIGNS: Final = phrases(
    """
    error; exception; fail; fatal; panic; exit; denied; refused; abort; timed out; not found; no such; cannot;
    ошибк; fehler; erreur; échec; 错误; 失败; 錯誤; 失敗; エラー
    """
)
_FAILURE: Final = re.compile(
    r"^\W{0,8}(?:\w{1,80}\.){0,8}\w{0,80}(?:Error|Exception)\b(?:[:(]|$)"
    r"|^\W{0,8}(?:failed to|(?-i:ERROR|FATAL|FAILED|PANIC))\b"
    r"|\b(?:error|failure|exception|fatal|failed|panic)(?:\[\w{1,20}\]|\s\w{1,12})?:"
    r"|(?-i:\bFAIL(?:ED)?\b)|\b[1-9]\d{0,6} (?:failed|failures?|errors?)\b"
    r"|\berror [A-Z]{1,6}\d{2,6}\b|^- [A-Z]{1,4}\d{3,4} "
    r"|\bexit(?:ed)?(?: with)?(?: (?:code|status))[ :]{0,3}[1-9]|\bexit [1-9]\d{0,2}\b"
    r"|\bcommand not found\b|\bno such file\b|\bpermission denied\b|\bconnection refused\b"
    r"|\btimed out\b|\bcannot find\b"
    r"|ошибк|\bfehler\b|\berreur\b|échec|错误|失败|錯誤|失敗|エラー",
    re.IGNORECASE,
)
_NO_FAILURE: Final = re.compile(
    r"\b(?:0|no|without) (?:errors?|failures?|failed)\b|\berrors?[:=] ?(?:0|none|null|false)\b"
    r"|^\s*\d+\s?[\t→|:-]"
    r"|^(?:raise|throw|except|return|assert|if|for|def|class|import|from)\b|\b(?:logger|logging|log|console)\.\w+\("
    r"|^\w+ ?= |[,{(;]$|%s|exception was the direct cause|another exception occurred",
    re.IGNORECASE,
)
"""Lines that only look like failures: counts of none, numbered listings, code, links of a traceback."""


def failures(text: str, *, is_error: bool) -> list[str]:
    """Return up to `MAX_LINES` lines of a result that report a failure: the last ones, as long as an item.

    A result marked as an error gives at least its last line. A long result is read at both ends, so that a
    verdict at the end is seen; of a long line the end is kept.
    """
    read = head_tail(text, HEAD_CHARS, TAIL_CHARS)
    folded = read.casefold()
    signs = [sign for sign in _SIGNS if sign in folded]
    if not signs and not is_error:
        return []
    lines = [line for line in read.split("\n") if line and not line.isspace()]
    found = list(dict.fromkeys(line for line in map(_end, lines) if _reports(line, signs)))
    if not found and is_error:
        found = [line.strip() for line in lines[-1:]]
    return [line[-MAX_ITEM_CHARS:] for line in found[-MAX_LINES:]]


def _end(line: str) -> str:
    return line[-_MAX_LINE_CHARS:].strip()


def _reports(line: str, signs: Iterable[str]) -> bool:
    """Say whether a line reports a failure; `signs` are those of `_SIGNS` that may be in it."""
    folded = line.casefold()
    if not any(sign in folded for sign in signs):
        return False
    return bool(_FAILURE.search(line)) and not _NO_FAILURE.search(line)
