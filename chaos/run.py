"""One run: a fleet, a schedule played on it, and all that is known afterwards."""

from __future__ import annotations

import time
from pathlib import Path

from chaos.driver import Driver, Tell
from chaos.evidence import Evidence
from chaos.fault import Planned
from chaos.faults import FAULTS
from chaos.fleet import TENANTS, Fleet, Size
from chaos.probe import Probe, untidy
from chaos.rest import Watch, await_idle, end_hosts
from chaos.schedule import schedule
from chaos.traces import attempts, calls
from ebbtide_core.names import Owner


def planned(seed: int, seconds: float, size: Size) -> tuple[Planned, ...]:
    """Return the schedule of a run."""
    return schedule(seed, seconds, FAULTS, size.targets)


def run(seed: int, seconds: float, size: Size, folder: Path, tell: Tell) -> Evidence:
    """Run it. Journals and logs are written to the folder; `tell` gets a line for each thing that happens."""
    tell("starting servers, workers and hosts")
    with Fleet(folder, size) as fleet:
        owners = [Owner(role.tenant, role.session) for role in fleet.roles]
        with Probe(fleet.store.direct, owners) as probe:
            return _played(fleet, probe, Driver(fleet, planned(seed, seconds, size), tell), seconds, tell)


def _played(fleet: Fleet, probe: Probe, driver: Driver, seconds: float, tell: Tell) -> Evidence:
    driver.play(seconds)
    calm = time.monotonic()
    tell("faults are over; waiting until all sessions are well")
    watch = Watch(fleet)
    restless = watch.await_rest(probe, calm, tell)
    end_hosts(fleet)
    restless += await_idle(fleet, probe)
    probe.stop()
    watch.read()
    return Evidence(
        sessions=[role.session for role in fleet.roles],
        calm=calm,
        entries=watch.entries,
        happened=driver.happened,
        sightings=probe.sightings,
        calls=calls(fleet.standin.control.requests()),
        attempts=attempts(fleet.slots[name].log for name in fleet.size.worker_names),
        untidy=untidy(fleet.store.direct, TENANTS),
        restless=restless,
        surprises=fleet.surprises,
    )
