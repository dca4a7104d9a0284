"""What the model was asked to read and write, from the stand-in's log, in tokens of o200k."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.jsonio import compact

Count = Callable[[str], int]

_DATA: Final = re.compile(r"^<(transcript|notes)-(\w+)>\n(.*)\n</\1-\2>$", re.DOTALL | re.MULTILINE)
_BASE: Final = "all that came before: "


@dataclass(frozen=True, slots=True)
class Asked:
    """Tokens of calls: `shown` of the session's messages, `base` of the last summary, read again by a merge,
    `input` of all there was to read, `output` of answers. `calls` is how many there were.
    """

    calls: int = 0
    shown: int = 0
    base: int = 0
    input: int = 0
    output: int = 0

    def __add__(self, other: Asked) -> Asked:
        """Return the sum."""
        return Asked(
            self.calls + other.calls,
            self.shown + other.shown,
            self.base + other.base,
            self.input + other.input,
            self.output + other.output,
        )


def asked(entries: Iterable[dict[str, Any]], count: Count) -> Asked:
    """Return what logged requests come to; one that failed counts like any other."""
    return sum((_asked(entry, count) for entry in entries), Asked())


def _asked(entry: dict[str, Any], count: Count) -> Asked:
    body = entry["body"]
    user = body["messages"][0]["content"]
    found = _DATA.search(user)
    assert found is not None, "a request without marked data"
    kind, data = found[1], found[3]
    base = sum(count(line) for line in data.splitlines() if line.startswith(_BASE))
    return Asked(
        calls=1,
        shown=count(data) if kind == "transcript" else 0,
        base=base if kind == "notes" else 0,
        input=sum(map(count, (body["system"], user, compact(body["output_config"])))),
        output=(entry["usage"] or {}).get("output_tokens", 0),
    )
