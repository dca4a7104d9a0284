"""Journals hold what was written, whole lines only, and hosts go on from them."""

from __future__ import annotations

import threading
from pathlib import Path

from chaos.hosting import Config, run
from chaos.journal import Journal, Raised, Reading, Turn
from chaos.laws import broken
from chaos.minor import Minor
from chaos.session import Role

from ebbtide_cli.embedded import EmbeddedServer
from tests.chaos.evidence import swap, swapped, turn, well
from tests.store.clock import Database
from tests.waiting import wait_until

ENTRIES: list[Turn | Raised] = [
    turn(18),
    swapped(20, swap=swap()),
    Raised("h0s0", 1, 3.0, "ValueError: \u2028 no\nline"),
]


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    """Each once, also while the file grows."""
    reading = Reading(tmp_path / "j")
    assert reading.more() == []
    journal = Journal(tmp_path / "j")
    journal.write(ENTRIES[0])
    assert reading.more() == ENTRIES[:1]
    for entry in ENTRIES[1:]:
        journal.write(entry)
    assert reading.more() == ENTRIES[1:]
    assert Reading(tmp_path / "j").more() == ENTRIES


def test_a_line_that_a_kill_cut_off_is_gone(tmp_path: Path) -> None:
    """Readers wait for its end, the next process writes in its place."""
    path = tmp_path / "j"
    Journal(path).write(ENTRIES[0])
    with path.open("ab") as file:
        file.write(b'{"kind": "turn", "ses')
    reading = Reading(path)
    assert reading.more() == ENTRIES[:1]
    Journal(path).write(ENTRIES[2])
    assert reading.more() == ENTRIES[2:]


def test_a_host_that_comes_back_goes_on_from_its_journal(
    tmp_path: Path, server: EmbeddedServer, database: Database
) -> None:
    """With all that it had kept, whether it keeps a buffer or its whole history."""
    roles = (Role("h0s0", "acme", "anthropic", raw=False), Role("h0s1", "acme", "openai", raw=True))
    path = tmp_path / "j"
    for life in (1, 2):
        _live(Config(path, server.broker_url, server.url, roles, Minor.NEWER, life))
    found = [entry for entry in Reading(path).more() if isinstance(entry, Turn)]
    assert {(t.session, t.life) for t in found} == {(r.session, n) for r in roles for n in (1, 2)}
    assert [t.first for t in found if t.life == 2].count(True) == len(roles)
    evidence = well(sessions=[r.session for r in roles], entries=found, calm=0.0, sightings=[], calls=[])
    assert broken(evidence) == {}


def _live(config: Config) -> None:
    """Run a host until each of its sessions has taken three turns."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(config, stop))
    thread.start()

    def taken() -> bool:
        turns = [e.session for e in Reading(config.journal).more() if e.life == config.life]
        return all(turns.count(role.session) >= 3 for role in config.roles)

    try:
        wait_until(taken, "all sessions take turns", 60)
    finally:
        stop.set()
        thread.join()
