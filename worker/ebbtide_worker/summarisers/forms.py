"""What a model is asked: one form for the notes on a part of a session, one for joining notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Final

from ebbtide_core.jsonio import canonical_bytes, compact, well_formed
from ebbtide_core.summary.model import MAX_LANGUAGE_CHARS, Summary
from ebbtide_worker.summarisers import draft
from ebbtide_worker.summarisers.base import PROSE, Chunk, Partial, Terms

Marks = Callable[[], str]
"""Gives a new unguessable word at each call."""

_FOLDER: Final = files(__package__) / "prompts"
_TOLD: Final = frozenset(
    {"session_intent", "active_request", "active_request_state", "decisions", "completed", "next_steps"}
)
"""What of each part's notes shows what a session is about."""

_TOLD_OF_BASE: Final = _TOLD - {"decisions", "completed"}
"""The base's intent was written from its lists, which grow with the session: they need no second reading."""

_NOTHING_ASKED: Final = "nothing"
_SAME_LANGUAGE: Final = "the one that the user writes in"


@dataclass(frozen=True, slots=True)
class Request:
    """One call: the system prompt, the only message, and the fields that the answer must have."""

    system: str
    user: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of call. `system` is the same for all of them; `user` has places for data and its mark."""

    system: str
    user: str
    fields: tuple[str, ...]

    @property
    def definition(self) -> tuple[bytes, ...]:
        """All of the form that can change an answer."""
        return self.system.encode(), self.user.encode(), canonical_bytes(draft.schema(self.fields))

    def filled(self, data: str, marks: Marks, **values: str) -> Request:
        """Return the call about some data. The mark around the data is a word that does not occur in it."""
        mark = marks()
        while mark in data:
            mark = marks()
        user = Template(self.user).substitute(values, data=data, mark=mark)
        return Request(self.system, user, self.fields)


def _prompt(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


NOTES: Final = Form(_prompt("map.system"), _prompt("map.user"), draft.FIELDS)
JOINED: Final = Form(_prompt("merge.system"), _prompt("merge.user"), PROSE)


def notes(chunk: Chunk, terms: Terms, marks: Marks) -> Request:
    """Return the call that summarises a chunk."""
    values = {
        "label": chunk.label,
        "language": _asked_language(terms),
        "tokens": str(terms.max_tokens),
        "asked": " ".join(well_formed(terms.instructions).split()) or _NOTHING_ASKED,
    }
    return NOTES.filled(chunk.text, marks, **values)


def joined(parts: Sequence[Partial], base: Summary | None, terms: Terms, marks: Marks) -> Request:
    """Return the call that writes the prose above the base, if there is one, and the parts."""
    lines = [] if base is None else [_line("all that came before", base, _TOLD_OF_BASE)]
    lines += [_line(part.label, part.summary, _TOLD) for part in parts]
    return JOINED.filled("\n".join(lines), marks, language=_asked_language(terms))


def language(terms: Terms) -> str:
    """Return the language that the terms ask for as one short line, "" for that of the conversation."""
    return " ".join(well_formed(terms.language).split())[:MAX_LANGUAGE_CHARS]


def _asked_language(terms: Terms) -> str:
    return language(terms) or _SAME_LANGUAGE


def _line(label: str, summary: Summary, fields: AbstractSet[str]) -> str:
    told = summary.model_dump(mode="json", include=set(fields), exclude_defaults=True)
    return f"{label}: {compact(told)}"
