"""One peer's environment: made once below `.cache`, anew when its requirements change."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HOME: Final = Path(".cache/bench/peers")


class PeerUnavailable(Exception):
    """The peer could not be installed: the row that would show it is left out, and said why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer's name, what pip installs for it, and the script beside this file that measures it.

    The script reads one JSON document on stdin and writes one on stdout; it imports nothing of ours.
    """

    name: str
    requirements: tuple[str, ...]
    script: str

    def ask(self, document: Any) -> Any:
        """Return what the script answers. Raises PeerUnavailable when it can't be installed or run."""
        python = self._python()
        script = Path(__file__).parent / self.script
        return json.loads(_ran([str(python), "-I", str(script)], json.dumps(document)))

    def _python(self) -> Path:
        folder = HOME / self.name
        python, note = folder / "bin" / "python", folder / "installed"
        wanted = "\n".join((sys.version, *self.requirements))
        if not note.exists() or note.read_text(encoding="utf-8") != wanted:
            venv.create(folder, clear=True, with_pip=True)
            pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _ran([str(python), *pip, *self.requirements])
            note.write_text(wanted, encoding="utf-8")
        return python


def _ran(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailable((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout
