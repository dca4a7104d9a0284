"""What a person or model says in a text: sentences, told apart from code, quotes and wrappings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from ebbtide_core.summary.model import MAX_ITEM_CHARS
from ebbtide_core.summary.text import border, clipped, head_tail

HEAD_CHARS: Final = 24_000
TAIL_CHARS: Final = 16_000
_MAX_LIST_LINES: Final = 20
_FENCE: Final = "```"
_WRAPPERS: Final = (
    "system-reminder",
    "environment_details",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-args",
    "command-message",
    "command-contents",
)
_OUTPUT_STARTS: Final = (
    "[File:",
    "EXECUTION RESULT",
    "OBSERVATION",
    "Observation:",
    "<returncode>",
    "<output>",
    "Your command ran",
    "Your proposed edit",
    "Caveat: The messages below",
)
_OUTPUT_SIGNS: Final = ("(Current directory:", "[Current working directory:")
_END: Final = re.compile(
    r"[.!?…。！？](?:(?<=[.!?…])[.!?…]{0,7}[*_)\"'”»]{0,3}\s+|(?<=[。！？])[。！？]{0,7})"
)
"""Begins with one set of signs, to which a search can skip."""

_ABBREVIATED: Final = re.compile(r"(?:^|[\s.(])\w\.$")
_BULLET: Final = re.compile(r"(?:[-*•+]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+")
_WORD: Final = re.compile(r"\w+(?:'\w+)*")


class Sentence(NamedTuple):
    """One sentence: verbatim, folded for comparison, and its words in order.

    `asks`: it is a question. `announces`: it only leads to what follows it.
    """

    text: str
    folded: str
    words: tuple[str, ...]
    asks: bool
    announces: bool

    @classmethod
    def of(cls, text: str) -> Sentence:
        """Return the sentence; folding ignores case and the shape of apostrophes."""
        folded = text.casefold().replace("’", "'")
        announces = folded.rstrip("*_ ").endswith((":", "："))
        return cls(text, folded, tuple(_WORD.findall(folded)), _is_question(text), announces)


def _is_question(text: str) -> bool:
    return text.rstrip("*_)\"'”» ").endswith(("?", "？", "؟"))


def _without(text: str, opening: str, closing: str) -> str:
    """Drop each run from an opening to the next closing mark; what is never closed stays."""
    parts: list[str] = []
    start = 0
    while (begin := text.find(opening, start)) >= 0:
        end = text.find(closing, begin + len(opening))
        if end < 0:
            break
        parts.append(text[start:begin])
        start = end + len(closing)
    return "\n".join([*parts, text[start:]]) if parts else text


def unwrapped(text: str) -> str:
    """Return the text without what hosts put around or between a user's words."""
    for name in _WRAPPERS if "<" in text else ():
        text = _without(text, f"<{name}>", f"</{name}>")
    return text.strip()


def is_output(text: str) -> bool:
    """Say whether a user message is the output of a text-only tool loop, as far as common hosts mark it."""
    if text.startswith(_OUTPUT_STARTS):
        return True
    return any(sign in text for sign in _OUTPUT_SIGNS) and not _opens_with_speech(text)


def _opens_with_speech(text: str) -> bool:
    if text.startswith("Traceback"):
        return False
    words = text[:MAX_ITEM_CHARS].partition("\n")[0].split()
    spoken = sum(word.strip(".,:;!?'\"()").replace("'", "").isalpha() for word in words)
    return len(words) >= 5 and spoken >= 0.8 * len(words)


def fenced(text: str) -> Iterator[str]:
    """Yield the contents of closed code fences, without their first line (the language)."""
    for part in head_tail(text, HEAD_CHARS, TAIL_CHARS).split(_FENCE)[1:-1:2]:
        yield part.partition("\n")[2]


def sentences(text: str, *, headings: bool = True) -> list[Sentence]:
    """Return what is said in a text: no fenced code, no quoted lines, bullets taken off.

    Sentences are verbatim and at most `MAX_ITEM_CHARS` long; longer ones come in pieces. One that ends in a
    colon has the list after it in its text. A text of more than `HEAD_CHARS` + `TAIL_CHARS` is read at both
    ends. `headings` says whether heading lines count.
    """
    said = _without(head_tail(text, HEAD_CHARS, TAIL_CHARS), _FENCE, _FENCE)
    lines = [line.strip() for line in said.split("\n") if line and not line.isspace()]
    found: list[Sentence] = []
    for number, line in enumerate(lines):
        if not line.startswith(">") and (headings or not line.startswith("#")):
            found += map(Sentence.of, _split(line))
            if found and found[-1].announces:
                found[-1] = _with_list(found[-1], lines[number + 1 : number + 1 + _MAX_LIST_LINES])
    return found


def _with_list(lead: Sentence, following: Sequence[str]) -> Sentence:
    """Add the list that a sentence leads to; what it is for is judged by the sentence alone."""
    items = list(takewhile(_BULLET.match, following))
    if not items:
        return lead
    text = clipped("\n".join([lead.text, *items]), MAX_ITEM_CHARS)
    return lead._replace(text=text, asks=_is_question(text))


def _split(line: str) -> Iterator[str]:
    start = 0
    while bullet := _BULLET.match(line, start):
        start = bullet.end()
    for end in _END.finditer(line, start):
        if not _ABBREVIATED.search(line, max(start, end.start() - 2), end.start() + 1):
            yield from _pieces(line[start : end.end()].strip())
            start = end.end()
    yield from _pieces(line[start:].strip())


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_ITEM_CHARS:
        space = sentence.rfind(" ", MAX_ITEM_CHARS // 2, MAX_ITEM_CHARS)
        cut = space if space > 0 else border(sentence, MAX_ITEM_CHARS)
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence
