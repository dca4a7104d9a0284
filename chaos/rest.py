"""Waiting until a fleet has come to rest after the last fault, and what has not."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Final

from chaos.driver import STEP, Tell
from chaos.evidence import by_session
from chaos.fleet import Fleet
from chaos.journal import Raised, Reading, Turn
from chaos.probe import Probe

TURNS: Final = 5
"""Turns that every session must take after the last fault."""

REST_SECONDS: Final = 120.0
"""How long sessions may take to be well again: as long as a tenant may be blocked, and some turns."""

IDLE_SECONDS: Final = 60.0
"""How long the jobs that run may take to end once no host asks for more."""

_SAY_EVERY: Final = 15.0


class Watch:
    """Reads the journals of all hosts. `entries` are all so far, those of a host in their order."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._readings = [Reading(fleet.journal(host)) for host in fleet.size.host_names]
        self.entries: list[Turn | Raised] = []

    def read(self) -> None:
        """Read what is new."""
        for reading in self._readings:
            self.entries += reading.more()

    def await_rest(self, probe: Probe, calm: float, tell: Tell) -> list[str]:
        """Wait until every session is well and versions are published again, and return what is not."""
        deadline, said = time.monotonic() + REST_SECONDS, time.monotonic()
        while restless := self._restless(probe, calm):
            if time.monotonic() > deadline:
                return restless
            if time.monotonic() - said > _SAY_EVERY:
                said = time.monotonic()
                tell(f"           not yet at rest: {'; '.join(restless)}")
            self._fleet.tick()
            time.sleep(10 * STEP)
        return []

    def _restless(self, probe: Probe, calm: float) -> list[str]:
        self.read()
        since = by_session(e for e in self.entries if isinstance(e, Turn) and e.at > calm)
        unwell = [
            told
            for role in self._fleet.roles
            if (told := unwellness(role.session, since.get(role.session, ())))
        ]
        if not any(sighting.at > calm for sighting in probe.sightings):
            unwell.append("nothing was published since the last fault")
        return unwell


def unwellness(session: str, since: Sequence[Turn]) -> str:
    """Say what is not well with a session, given its turns since the last fault; "" when all is.

    It is well with one turn, after the first few, that was neither degraded nor met a fault: sessions fill up
    so fast here that each has a degraded turn now and then.
    """
    if len(since) < TURNS:
        return f"{session} took {len(since)} turns since the last fault"
    later = since[TURNS - 1 :]
    if not all(turn.degraded or turn.faults for turn in later):
        return ""
    last = later[-1]
    if last.faults:
        return f"{session} still meets faults ({'; '.join(last.faults)})"
    return f"{session} is still degraded ({last.reason}, claim {last.claim or 'none'})"


def end_hosts(fleet: Fleet) -> None:
    """Tell all hosts to end, and wait for that."""
    hosts = [fleet.slots[name] for name in fleet.size.host_names]
    for host in hosts:
        host.end(signal.SIGTERM)
    while any(host.running for host in hosts):
        fleet.tick()
        time.sleep(STEP)


def await_idle(fleet: Fleet, probe: Probe) -> list[str]:
    """Wait until no job waits and none runs; says so when they don't end in time."""
    deadline = time.monotonic() + IDLE_SECONDS
    while not probe.idle():
        if time.monotonic() > deadline:
            return [f"jobs still wait or run {IDLE_SECONDS:g} s after the last host has ended"]
        fleet.tick()
        time.sleep(10 * STEP)
    return []
