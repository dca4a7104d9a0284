"""The lines of docs/operations.md that allow users of the servers what they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.brokers.tls_redis import PASSWORD

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
_LINE: Final = re.compile(r"^ACL SETUSER (ebbtide-[a-z]+) .+$", re.MULTILINE)


def acl_lines() -> dict[str, str]:
    """Return the line of each user of the page, with the tests' password."""
    found = {line[1]: line[0] for line in _LINE.finditer(PAGE.read_text(encoding="utf-8"))}
    return {user: line.replace(" >PASSWORD ", f" >{PASSWORD} ") for user, line in found.items()}


def rules(user: str) -> list[str]:
    """Return what a user of the page is allowed."""
    return acl_lines()[user].split()[3:]
