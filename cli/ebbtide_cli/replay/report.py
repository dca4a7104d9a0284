"""The file of `--json`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ebbtide_cli.replay.figures import total
from ebbtide_cli.replay.run import Result

STDOUT: Final = Path("-")


def report(result: Result) -> dict[str, Any]:
    """Return totals, sessions, problems with input, and faults of the pool as JSON."""
    return {
        "totals": total(f for _, f in result.sessions).to_json(),
        "sessions": [{"id": t.id, **f.to_json()} for t, f in result.sessions],
        "problems": [asdict(p) for p in result.problems],
        "faults": dict(result.faults.most_common()),
    }


def write_report(result: Result, path: Path) -> None:
    """Write the report; `-` is stdout. Raises OSError."""
    text = json.dumps(report(result), indent=2) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")
