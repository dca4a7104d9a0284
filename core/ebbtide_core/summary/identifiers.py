"""The identifier ledger: paths, addresses, codes, versions, ids and names, verbatim, ranked by their use.

Text is cut into tokens once and each token is judged by itself, so the work is linear in the text.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from ebbtide_core.summary.files import has_file_name
from ebbtide_core.summary.model import MAX_ITEMS
from ebbtide_core.summary.text import head_tail
from ebbtide_core.summary.words import words

HEAD_CHARS: Final = 24_000
TAIL_CHARS: Final = 16_000
MAX_TOKEN_CHARS: Final = 200
MAX_URL_CHARS: Final = 400
MAX_PER_TEXT: Final = 400
MAX_JUDGED: Final = 20_000
"""Tokens that a lexicon knows at one time."""

_MAX_USES: Final = 4


class Voice(IntEnum):
    """Who used an identifier, weighted: what a user names counts more than what a listing prints."""

    RESULT = 1
    CALL = 2
    ASSISTANT = 3
    USER = 4


_WEIGHTS: Final = {
    "url": 3,
    "path": 3,
    "windows": 3,
    "endpoint": 3,
    "port": 3,
    "error": 3,
    "uuid": 2,
    "hex": 2,
    "version": 2,
    "id": 2,
    "number": 2,
    "date": 1,
    "name": 1,
}
_BETWEEN: Final = "\"'`<>()[]{},;|=*!?“”‘’«»（）「」『』【】、。，！？：；…"
"""What separates tokens, beside white space."""

_ASCII_BETWEEN: Final = _BETWEEN.encode("ascii", "ignore")
_BLANKS: Final = bytes.maketrans(_ASCII_BETWEEN, b" " * len(_ASCII_BETWEEN))
_TOKEN: Final = re.compile(rf"[^\s{re.escape(_BETWEEN)}]+")
_SCHEME: Final = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}$")
_MAX_SCHEME_CHARS: Final = 17
_AFTER_SCHEME: Final = re.compile(rf"://[^\s\"'<>`\\]{{1,{MAX_URL_CHARS}}}")
_URL_END: Final = ".,:;!?)]}*_"
_PORT: Final = re.compile(r"[Pp](?<=\b[Pp])ort[ =:]{1,3}[0-9]{2,5}\b")
_ERRNO: Final = (
    "E(?:NOENT|ACCES|PERM|EXIST|NOTDIR|ISDIR|MFILE|NOSPC|INVAL|PIPE|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE|HOSTUNREACH"
    "|NETUNREACH|NOTFOUND|NOTEMPTY|RESOLVE|LIFECYCLE)"
)
_SEGMENT: Final = r"[^/:\\]++"
_SHAPES: Final = {
    "path": rf"(?:~|\.{{1,2}}|[A-Za-z]:)?/{_SEGMENT}(?:/{_SEGMENT})*+/?(?::[0-9]+){{0,2}}"
    rf"|{_SEGMENT}(?:/{_SEGMENT})++/?(?::[0-9]+){{0,2}}",
    "windows": r"[A-Za-z]:\\[^:]+",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "hex": r"0x[0-9a-fA-F]+|(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f]{7,64}",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+Z?)?",
    "version": r"v[0-9]++(?:\.[0-9]++)++[0-9A-Za-z.+-]*"
    r"|[0-9]++(?:\.[0-9]++){2,4}(?:[-+.]?[A-Za-z][0-9A-Za-z.+-]*)?"
    r"|@?[A-Za-z][\w./-]*+@[0-9][\w.]*",
    "error": rf"[A-Z]{{1,6}}-?[0-9]{{2,6}}|{_ERRNO}"
    r"|[A-Za-z.]++(?:(?<=[A-Za-z]Error)|(?<=[A-Za-z]Exception))",
    "endpoint": r"(?:localhost|[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++):[0-9]{2,5}",
    "number": r"\#[0-9]+|[0-9]{6,20}",
    "id": r"\#?(?=[A-Za-z_-]*+[0-9])(?=[0-9_-]*+[A-Za-z])[A-Za-z0-9]++(?:[_-]++[A-Za-z0-9]++)*+",
    "name": r"[A-Za-z_]\w*+(?:(?:\.|::)[A-Za-z_]\w*+)++|_*+[A-Za-z0-9]++(?:_++[A-Za-z0-9]++)++"
    r"|[a-z]++[A-Z][A-Za-z0-9]*|(?:[A-Z][a-z0-9]++){2,}",
}
"""Each kind's shape; the first that a token has is its kind.

Quantifiers are possessive wherever giving characters back could not help, so a token is judged at once.
"""

_KINDS: Final = re.compile("|".join(f"(?P<{kind}>{shape})" for kind, shape in _SHAPES.items()))
_QUANTITY: Final = re.compile(r"[0-9]+[A-Za-z]{1,3}|[0-9]+-[A-Za-z]+|[A-Za-z]{1,2}[0-9]")
_ABBREVIATION: Final = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?")
_SECRET_WORDS: Final = words(
    "apikey api-key api_key accesskey access-key access_key token secret passw pwd bearer"
)
_ASSIGNED_SECRET: Final = re.compile(
    r"(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|pwd)\w{0,20}[\"']{0,2}\s{0,3}[=:]\s{0,3}[\"']{0,2}"
    r"[^\s\"',;]{1,400}|\bbearer\s{1,3}[^\s\"',;]{1,400}",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"(?:sk|pk|rk|ghp|gho|ghu|ghs|glpat|xox[abprs]|hf|npm|pypi)[-_][A-Za-z0-9_-]{12,}|(?:AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_.-]{12,}"
)
_MIN_SECRET_CHARS: Final = 15
_LOGIN: Final = re.compile(r"://[^/@\s]*:[^/@\s]*@")


class Identifier(NamedTuple):
    """One identifier as written, and its kind: url, path, error, version, id, name …"""

    text: str
    kind: str


def identifiers(text: str, *, names: bool = True) -> list[Identifier]:
    """Return the identifiers of a text, as `Lexicon` finds them."""
    return Lexicon().identifiers(text, names=names)


class Lexicon:
    """Finds identifiers in the texts of a session; a token that they repeat is judged once."""

    def __init__(self) -> None:
        self._judged = _Judged()

    def identifiers(self, text: str, *, names: bool = True) -> list[Identifier]:
        """Return a text's identifiers in order, each once, at most `MAX_PER_TEXT`; names only with `names`.

        Credentials are passed over: assigned secrets, tokens of known form, addresses with a password. A text
        of more than `HEAD_CHARS` + `TAIL_CHARS` is read at both ends.
        """
        text = head_tail(text, HEAD_CHARS, TAIL_CHARS).replace("</", "\n")
        folded = text.casefold()
        if any(word in folded for word in _SECRET_WORDS):
            text = _ASSIGNED_SECRET.sub("\n", text)
        found = {item.text: item for item in _addresses(text)}
        for item in filter(None, map(self._judged.__getitem__, _tokens(text))):
            if names or item.kind != "name":
                found.setdefault(item.text, item)
        return list(found.values())[:MAX_PER_TEXT]


class _Judged(dict[str, Identifier | None]):
    """Tokens and the identifiers that they are; forgets all of them when there are too many.

    What is longer than an identifier is judged and not kept, so the size is bounded.
    """

    def __missing__(self, token: str) -> Identifier | None:
        bare = token.rstrip(".:-").lstrip(":")
        kind = _kind(bare)
        item = Identifier(bare, kind) if kind else None
        if len(token) <= MAX_TOKEN_CHARS:
            if len(self) >= MAX_JUDGED:
                self.clear()
            self[token] = item
        return item


def _tokens(text: str) -> list[str]:
    """Return what stands between separators; the way for ASCII is the faster one."""
    if text.isascii():
        return text.encode().translate(_BLANKS).decode().split()
    return _TOKEN.findall(text)


def _addresses(text: str) -> Iterator[Identifier]:
    at = text.find("://")
    while at >= 0:
        scheme = _SCHEME.search(text[max(0, at - _MAX_SCHEME_CHARS) : at])
        rest = _AFTER_SCHEME.match(text, at)
        if scheme and rest and not _LOGIN.match(rest[0]):
            yield Identifier((scheme[0] + rest[0]).rstrip(_URL_END), "url")
        at = text.find("://", rest.end() if rest else at + 1)
    if "port" in text or "Port" in text:
        yield from (Identifier(match[0], "port") for match in _PORT.finditer(text))


def _kind(token: str) -> str:
    """Return a token's kind, "" when it is no identifier."""
    size = len(token)
    if not 2 < size <= MAX_TOKEN_CHARS or "://" in token or _is_word(token):
        return ""
    if size >= _MIN_SECRET_CHARS and _SECRET.fullmatch(token):
        return ""
    if ("." in token or "/" in token) and has_file_name(token):
        return "path"
    match = _KINDS.fullmatch(token)
    kind = (match.lastgroup or "") if match else ""
    if kind == "path" and not _is_path(token):
        return ""
    if kind == "id" and (size < 4 or _QUANTITY.fullmatch(token)):
        return ""
    return "" if kind == "name" and _ABBREVIATION.fullmatch(token) else kind


def _is_word(token: str) -> bool:
    """Say whether a token is letters in one case, or with one capital: most are, and no kind looks so."""
    return token.isalpha() and (token.islower() or token.istitle())


def _is_path(token: str) -> bool:
    """Tell paths from `and/or`, fractions and dates."""
    told = token[0] in "/~." or token[1:2] == ":" or token.strip("/").count("/") >= 2
    return told and any(map(str.isalpha, token))


@dataclass(slots=True)
class _Entry:
    kind: str
    uses: dict[Voice, int] = field(default_factory=dict)
    last: int = 0

    def score(self, first: int, span: int) -> float:
        """Kind, times uses by voice (each at most `_MAX_USES`), times 0.5 (oldest) to 1 (newest)."""
        used = sum(voice * min(uses, _MAX_USES) for voice, uses in self.uses.items())
        return _WEIGHTS[self.kind] * used * (0.5 + 0.5 * (self.last - first) / span)


@dataclass(slots=True)
class Ledger:
    """The identifiers of a conversation with their uses by voice (one a text) and the place of the last."""

    _entries: dict[str, _Entry] = field(default_factory=dict)
    _place: int = 0

    def add(self, found: Iterable[Identifier], voice: Voice) -> None:
        """Note the identifiers of one more text."""
        self._place += 1
        for item in found:
            entry = self._entries.get(item.text)
            if entry is None:
                entry = self._entries[item.text] = _Entry(item.kind)
            entry.uses[voice] = entry.uses.get(voice, 0) + 1
            entry.last = self._place

    def best(self, without: Iterable[str] = (), size: int = MAX_ITEMS) -> list[str]:
        """Return the `size` identifiers of the highest score, the last used last."""
        left_out = set(without)
        span = max(1, self._place - 1)
        scored = [
            (entry.score(1, span), entry.last, text)
            for text, entry in self._entries.items()
            if text not in left_out
        ]
        best = heapq.nlargest(size, scored)
        return [text for _, _, text in sorted(best, key=lambda item: (item[1], item[0]))]
