"""The laws as they can be seen from outside: each takes the evidence of a run and tells what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from chaos.evidence import Evidence
from chaos.laws.coverage import covered, proved
from chaos.laws.paid import once
from chaos.laws.requests import valid
from chaos.laws.sessions import alive, at_rest, nobody_ended, nothing_raised
from chaos.laws.store import tidy
from chaos.laws.versions import one_body, rising

Law = Callable[[Evidence], Iterator[str]]

LAWS: Final[dict[str, Law]] = {
    "every session is alive": alive,
    "nothing is raised into a host's loop": nothing_raised,
    "no process ends by itself": nobody_ended,
    "the fleet comes to rest by itself": at_rest,
    "every request is valid": valid,
    "every message is kept or covered": covered,
    "coverage is proved by ids": proved,
    "versions rise": rising,
    "a version has one body": one_body,
    "every key runs out": tidy,
    "nothing is paid twice": once,
}


def broken(found: Evidence) -> dict[str, list[str]]:
    """Return what breaks each law, those that hold left out."""
    told = {name: list(law(found)) for name, law in LAWS.items()}
    return {name: sentences for name, sentences in told.items() if sentences}
