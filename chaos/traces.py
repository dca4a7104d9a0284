"""What the stand-in and the workers' logs tell of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from chaos.evidence import Attempt, Call
from chaos.talk import session_of

_DATA: Final = re.compile(r"<transcript-(?P<mark>\w+)>\\n(?P<data>.*?)</transcript-(?P=mark)>")
"""Where a request holds what is to be summarised, as JSON; the mark is another one each time."""

_ENDED: Final = "job ended"
_CHUNK_FIELD: Final = "completed"
"""Asked for of a chunk, not of a merge: the model writes no lists of merged notes."""


def calls(log: Iterable[dict[str, Any]]) -> list[Call]:
    """Return the requests that the stand-in's log tells of."""
    return [_call(entry) for entry in log]


def _call(entry: dict[str, Any]) -> Call:
    usage = entry["usage"] or {}
    return Call(
        session=session_of(entry["ids"][0]) if entry["ids"] else "",
        transcript=_transcript(entry["body"]),
        chunk=_CHUNK_FIELD in _asked_for(entry["body"]),
        at=entry["at"],
        ended=entry["ended"],
        outcome=entry["outcome"],
        tokens=usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
    )


def _transcript(body: Any) -> str:
    """Return the name of the text that a request is about (32 hex digits), whatever it asks of it."""
    asked = json.dumps(body.get("messages") if isinstance(body, dict) else body)
    found = _DATA.search(asked)
    return blake2b((found["data"] if found else asked).encode(), digest_size=16).hexdigest()


def _asked_for(body: Any) -> list[str]:
    """Return the fields of the answer that a request asks for."""
    try:
        return list(body["output_config"]["format"]["schema"]["required"])
    except (KeyError, TypeError):
        return []


def attempts(logs: Iterable[Path]) -> list[Attempt]:
    """Return the attempts whose end the workers' logs tell of, in the order of their ends."""
    found = [_attempt(line) for path in logs for line in _lines(path) if line["event"].startswith(_ENDED)]
    return sorted(found, key=lambda attempt: attempt.ended)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole JSON lines of a log; a killed worker may leave half a one."""
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and "event" in line:
            yield line


def _attempt(line: dict[str, Any]) -> Attempt:
    ended = datetime.fromisoformat(line["timestamp"]).timestamp()
    return Attempt(
        session=line["session"],
        job=line["job"],
        epoch=line["epoch"],
        number=line["attempt"],
        outcome=line["outcome"],
        reason=line["reason"],
        began=ended - line.get("seconds", 0.0),
        ended=ended,
    )
