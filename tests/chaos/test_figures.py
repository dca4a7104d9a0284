"""What is counted is what is said: recovery, outages, repeated pay, redeliveries."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from chaos.fault import Group
from chaos.figures import figures
from chaos.laws import LAWS
from chaos.outages import MOST, P99, outages
from chaos.recovery import PROMISED, Spread, by_fault, recoveries
from chaos.report import happened as happened_table
from chaos.report import recovery as recovery_table
from chaos.report import show_laws
from rich.console import Console

from chaos.evidence import Happened
from tests.chaos.evidence import attempt, call, happened, sighting, turn, well

OUTAGE = happened("store frozen", 30.0, 35.0)


def alone(fault: Happened) -> Happened:
    """Return the fault as one that had nothing beside it."""
    return replace(fault, planned=replace(fault.planned, alone=True))


def test_recovery_ends_with_what_was_published_after_the_fault() -> None:
    """What may have been published before does not count, even if it was seen later."""
    seen = [sighting(1, since=29.0, at=35.1), sighting(2, since=36.0, at=36.2), sighting(3, since=37, at=38)]
    [found] = recoveries(well(happened=[OUTAGE], sightings=seen))
    assert found.seconds == pytest.approx(1.2)
    assert (found.fault, found.alone) == ("store frozen", False)


def test_without_a_publication_there_was_no_recovery() -> None:
    """It is late if it came alone, and in no median."""
    found = well(happened=[alone(OUTAGE)], sightings=[])
    assert [r.seconds for r in recoveries(found)] == [None]
    assert by_fault(recoveries(found)) == {}
    assert (figures(found).alone, figures(found).late) == (1, 1)


@pytest.mark.parametrize(("seconds", "late"), [(PROMISED - 0.1, 0), (PROMISED + 0.1, 1)])
def test_a_fault_that_came_alone_is_held_to_the_promise(seconds: float, late: int) -> None:
    """One among others is not."""
    at = OUTAGE.ended.clock + seconds
    seen = [sighting(2, since=at - 0.1, at=at)]
    assert figures(well(happened=[alone(OUTAGE)], sightings=seen)).late == late
    assert figures(well(happened=[OUTAGE], sightings=seen)).late == 0


def test_recoveries_of_a_kind_are_told_together() -> None:
    """Median and maximum."""
    faults = [OUTAGE, happened("store frozen", 40.0, 41.0), happened("worker killed", 50.0, 51.0)]
    seen = [sighting(n, since=at, at=at) for n, at in enumerate((37.0, 47.0, 51.5), 1)]
    assert by_fault(recoveries(well(happened=faults, sightings=seen))) == {
        "store frozen": Spread(2, 4.0, 6.0),
        "worker killed": Spread(1, 0.5, 0.5),
    }


def test_an_outage_judges_the_turns_within_it_but_for_their_waiting() -> None:
    """Also one that was under way as it began."""
    turns = [
        turn(20, at=10.0, took=9.0),
        turn(22, at=29.5, took=0.75, waited=0.25),
        turn(24, at=31.0, took=1.5, waited=1.25),
        turn(26, at=36.0, took=9.0),
    ]
    found = outages(well(entries=turns, happened=[OUTAGE]), Group.STORE)
    assert (found.turns, found.p99, found.most) == (2, 0.5, 0.5)
    assert not found.kept
    assert outages(well(entries=turns, happened=[OUTAGE]), Group.BROKER).turns == 0


def test_an_outage_leaves_out_first_turns_and_those_of_a_stopped_host() -> None:
    """Neither tells what the outage cost."""
    turns = [turn(20, at=31.0, took=9.0, first=True), turn(22, at=32.0, took=8.0), turn(24, at=34.0)]
    stopped = happened("host stopped", 33.0, 33.5, target="host0")
    elsewhere = happened("host stopped", 33.0, 33.5, target="host1")
    assert outages(well(entries=turns, happened=[OUTAGE, stopped]), Group.STORE).most == 0.01
    assert outages(well(entries=turns, happened=[OUTAGE, elsewhere]), Group.STORE).most == 8.0


def test_a_delay_is_no_outage() -> None:
    """The server answers meanwhile."""
    slow = happened("store delayed", 30.0, 35.0)
    assert outages(well(entries=[turn(20, at=31.0)], happened=[slow]), Group.STORE).turns == 0


def test_redeliveries_are_the_latest_attempt_of_each_job() -> None:
    """Attempts that never told of their end are among them."""
    ended = [
        attempt(1, 2, number=2),
        attempt(1, 2, "neutral", number=1, reason="replaced"),
        attempt(1, 2, epoch=2),
        attempt(1, 2, job="other", number=1),
    ]
    found = figures(well(attempts=ended))
    assert found.put_back == 3
    assert found.refused == {"replaced": 1}
    assert found.attempts == {"neutral: replaced": 1, "success: published": 3}


def test_figures_and_tables_tell_of_all_that_happened() -> None:
    """As JSON and for people, goals and laws with their verdicts."""
    faults = [OUTAGE, happened("worker killed", 50.0, 51.0), happened("broker killed", 60.0, 61.0)]
    found = well(happened=faults, calls=[call(15.0), call(25.0)], attempts=[attempt(14.0, 17.0, "failure")])
    told = figures(found)
    assert (told.kills, told.restarts, told.paid_again, told.tokens) == (1, 1, 1, 50)
    assert json.loads(json.dumps(told.as_json()))["faults"] == dict.fromkeys(sorted(told.faults), 1)
    rows = {str(row[0]): row[1] for row in happened_table(told).rows}
    assert (rows["faults"], rows["turns"], rows["versions swapped in"]) == (3, 4, 1)
    assert [goal.met for goal in happened_table(told).goals] == [True, True, True]
    assert [row[0] for row in recovery_table(told).rows] == sorted(told.recovery)


def test_broken_laws_are_shown_with_what_breaks_them() -> None:
    """The first things of many, and every law has a line."""
    console = Console(width=200, record=True, file=io.StringIO())
    show_laws(list(LAWS), {"versions rise": [f"thing {n}" for n in range(20)]}, console)
    text = console.export_text()
    assert text.count("holds") == len(LAWS) - 1
    assert "thing 7\n" in text
    assert "thing 8" not in text
    assert "and 12 more" in text


def test_goals_are_those_of_the_io_budget() -> None:
    """0.35 s for 99 of 100 turns, and 0.8 s for all, with the default budget."""
    assert (P99, MOST) == (0.35, 0.8)
