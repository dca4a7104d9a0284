"""Reads transcripts from files of several shapes; what is wrong is told by kind and stops nothing else.

| file                                    | read as                                            |
| --------------------------------------- | -------------------------------------------------- |
| JSON lines of `{"messages": […], …}`    | a transcript a line                                |
| a JSON array of messages, or one object | one transcript; messages may be Responses items    |
| Claude Code session log                 | one transcript: its user and assistant events      |

Each plain or gzip. `id`, `format`, `system` and `tools` beside `messages` are taken when given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ebbtide_cli.replay.claude_code import Log, carries_message, is_event
from ebbtide_cli.replay.source import SourceFault, lines
from ebbtide_cli.replay.transcript import (
    FORMATS,
    Fault,
    Problem,
    Transcript,
    first_bad,
    guess_format,
    usable_id,
)

Numbered = tuple[int, bytes]

_SUFFIXES: Final = (".gz", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class Found:
    """What was read: transcripts with ids that differ from each other, and problems."""

    transcripts: tuple[Transcript, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_files(paths: Iterable[Path]) -> Found:
    """Return what all files hold, in their order. Never raises, whatever a file holds, or if it is
    missing."""
    found = [read_file(path) for path in paths]
    return Found(
        tuple(_distinct(t for one in found for t in one.transcripts)),
        tuple(p for one in found for p in one.problems),
    )


def read_file(path: Path) -> Found:
    """Return what one file holds."""
    reader = _Reader(path)
    try:
        reader.take(lines(path))
    except SourceFault as fault:
        reader.note(0, fault.kind, fault.detail)
    return reader.found()


def _distinct(transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    used: set[str] = set()
    for transcript in transcripts:
        name, n = transcript.id, 1
        while name in used:
            n += 1
            name = f"{transcript.id[:240]}#{n}"
        used.add(name)
        yield transcript if name == transcript.id else replace(transcript, id=name)


@dataclass
class _Reader:
    """Sorts the values of one file into transcripts, log events and problems."""

    path: Path
    transcripts: list[Transcript] = field(default_factory=list)
    problems: dict[Fault, Problem] = field(default_factory=dict)
    log: Log = field(default_factory=Log)
    events: int = 0

    @property
    def stem(self) -> str:
        """The file's name without its usual endings."""
        name = self.path.name
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        return name or self.path.name

    def take(self, feed: Iterator[Numbered]) -> None:
        """Read lines, or all of them as one document when the first is not JSON by itself."""
        first = next(feed, None)
        if first is None:
            self.note(0, Fault.EMPTY, "the file holds nothing")
            return
        try:
            _parsed(first[1])
        except _Unparsed:
            return self._whole_or_lines(first, feed)
        self._line(*first)
        for number, line in feed:
            self._line(number, line)

    def _whole_or_lines(self, first: Numbered, feed: Iterator[Numbered]) -> None:
        gathered, fault = [first], None
        try:
            gathered.extend(feed)
        except SourceFault as error:
            fault = error
        self._gathered(gathered)
        if fault is not None:
            raise fault

    def _gathered(self, gathered: Sequence[Numbered]) -> None:
        try:
            value = _parsed(b"".join(line for _, line in gathered))
        except _Unparsed as error:
            if gathered[0][1].lstrip().startswith(b"["):
                self.note(0, error.kind, error.detail)
                return
            for number, line in gathered:
                self._line(number, line)
        else:
            self._value(gathered[0][0], value)

    def _line(self, number: int, line: bytes) -> None:
        try:
            value = _parsed(line)
        except _Unparsed as error:
            self.note(number, error.kind, error.detail)
        else:
            self._value(number, value)

    def _value(self, number: int, value: Any) -> None:
        if isinstance(value, list):
            self._transcript(number, {"messages": value})
        elif not isinstance(value, dict):
            self.note(number, Fault.NOT_AN_OBJECT, f"a {type(value).__name__} where an object should be")
        elif is_event(value):
            self._event(number, value)
        else:
            self._transcript(number, value)

    def _event(self, number: int, event: dict[str, Any]) -> None:
        self.events += 1
        if carries_message(event) and not self.log.add(event):
            self.note(number, Fault.NO_MESSAGES, f"a {event['type']} event without its message")

    def _transcript(self, number: int, value: dict[str, Any]) -> None:
        messages = value.get("messages")
        if not isinstance(messages, list) or not messages:
            self.note(number, Fault.NO_MESSAGES, "no list of messages, or an empty one, under `messages`")
            return
        bad = first_bad(messages)
        if bad:
            self.note(number, Fault.BAD_MESSAGE, bad)
            return
        named = value.get("format")
        self.transcripts.append(
            Transcript(
                id=usable_id(value.get("id"), f"{self.stem}:{number}"),
                file=str(self.path),
                line=number,
                format=named if named in FORMATS else guess_format(messages),
                system=value.get("system"),
                tools=value.get("tools"),
                messages=tuple(messages),
            )
        )

    def note(self, line: int, kind: Fault, detail: str) -> None:
        """Count a fault; the first of its kind is told."""
        known = self.problems.get(kind)
        self.problems[kind] = (
            replace(known, count=known.count + 1) if known else Problem(str(self.path), line, kind, detail)
        )

    def found(self) -> Found:
        """Return what the file held."""
        if self.log.messages:
            messages = tuple(self.log.messages)
            name = usable_id(self.stem, self.stem)
            self.transcripts.append(Transcript(name, str(self.path), 0, "anthropic", None, None, messages))
        elif self.events and not self.transcripts:
            self.note(0, Fault.NO_MESSAGES, "a log without user or assistant events of the main conversation")
        return Found(tuple(self.transcripts), tuple(self.problems.values()))


class _Unparsed(Exception):
    """Bytes that are no JSON: `kind` and `detail` say why."""

    def __init__(self, kind: Fault, detail: str) -> None:
        self.kind = kind
        self.detail = detail
        super().__init__(detail)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _Unparsed(Fault.NOT_UTF8, f"byte {error.start}: {error.reason}") from None
    except RecursionError:
        raise _Unparsed(Fault.NOT_JSON, "nested too deep") from None
    except json.JSONDecodeError as error:
        raise _Unparsed(Fault.NOT_JSON, f"{error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise _Unparsed(Fault.NOT_JSON, str(error)) from None
