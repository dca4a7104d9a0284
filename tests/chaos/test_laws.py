"""Each law holds for a run in which all went well, and is broken by what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.journal import Raised
from chaos.laws import LAWS, broken
from chaos.laws.paid import again

from chaos.evidence import Evidence
from tests.chaos.evidence import (
    CALM,
    SESSION,
    attempt,
    call,
    happened,
    sighting,
    swap,
    swapped,
    turn,
    well,
)


def test_all_laws_hold_when_all_went_well() -> None:
    """What the tests below spoil is sound."""
    assert broken(well()) == {}


LATE = swapped(30, at=CALM + 2)
BEFORE = [turn(18), swapped(20, swap=swap())]
SECOND = swap(version=2, body="b2", base=10, position=20, covered=[[10, 20]], carried=[4])
BEHIND_SECOND = {"position": 20, "kept": [[4, 5], [20, 30]], "sent": [[4, 5], [20, 30]]}

SPOILT: dict[str, tuple[str, dict[str, Any]]] = {
    "no turn after the last fault": ("every session is alive", {"calm": 1_000.0}),
    "no turn at all": ("every session is alive", {"sessions": [SESSION, "h0s1"]}),
    "a turn raised": (
        "nothing is raised into a host's loop",
        {"entries": [*well().entries, Raised(SESSION, 1, 25.0, "UnfittableRequest: too large")]},
    ),
    "a process ended": ("no process ends by itself", {"surprises": ["worker0 ended"]}),
    "a session is unwell": ("the fleet comes to rest by itself", {"restless": ["h0s0 is degraded"]}),
    "a rule is broken": (
        "every request is valid",
        {"entries": [*well().entries, swapped(26, broken=["first_role"])]},
    ),
    "larger than the window": (
        "every request is valid",
        {"entries": [*well().entries, swapped(26, tokens=1_001)]},
    ),
    "a message is lost": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, kept=[[4, 5], [11, 30]], sent=[[4, 5], [11, 30]], at=CALM + 1)]},
    ),
    "a carried message is lost": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, kept=[[10, 30]], sent=[[10, 30]], at=CALM + 1)]},
    ),
    "a message is kept twice": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, kept=[[4, 5], [9, 30]], sent=[[4, 5], [9, 30]], at=CALM + 1)]},
    ),
    "messages change places": (
        "every message is kept or covered",
        {
            "entries": [
                *BEFORE,
                swapped(30, kept=[[10, 30], [4, 5]], sent=[[10, 30], [4, 5]], at=CALM + 1),
            ]
        },
    ),
    "a message is left out in silence": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, sent=[[4, 5], [11, 30]], at=CALM + 1)]},
    ),
    "a message is sent twice": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, sent=[[4, 5], [10, 30], [12, 13]], at=CALM + 1)]},
    ),
    "what is covered is sent too": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, sent=[[4, 5], [3, 4], [10, 30]], at=CALM + 1)]},
    ),
    "the summary is left out in silence": (
        "every message is kept or covered",
        {"entries": [*BEFORE, swapped(30, summary_sent=False, at=CALM + 1)]},
    ),
    "a host forgot messages": (
        "every message is kept or covered",
        {"entries": [*BEFORE, LATE, swapped(28, at=CALM + 3)]},
    ),
    "a hole in a record": (
        "coverage is proved by ids",
        {"entries": [turn(18), swapped(20, swap=swap(covered=[[0, 4], [6, 10]])), LATE]},
    ),
    "a message in two chunks": (
        "coverage is proved by ids",
        {"entries": [turn(18), swapped(20, swap=swap(covered=[[0, 4], [3, 4], [5, 10]])), LATE]},
    ),
    "a record that builds on none": (
        "coverage is proved by ids",
        {"entries": [turn(18), swapped(20, swap=swap(base=5, covered=[[5, 10]], carried=[4])), LATE]},
    ),
    "a version again": (
        "versions rise",
        {"entries": [*BEFORE, swapped(22, swap=swap()), LATE]},
    ),
    "a version before": (
        "versions rise",
        {"entries": [*BEFORE, turn(30, swap=SECOND, **BEHIND_SECOND), swapped(32, swap=swap(), at=CALM + 1)]},
    ),
    "two bodies in the store": (
        "a version has one body",
        {"sightings": [sighting(), sighting(body="other")]},
    ),
    "another body at a host": ("a version has one body", {"sightings": [sighting(body="other")]}),
    "a key for ever": ("every key runs out", {"untidy": ["ebbtide:1:{t:acme}:memo:x"]}),
    "paid again": ("nothing is paid twice", {"calls": [call(19.0), call(25.0)]}),
    "paid again by a later attempt": (
        "nothing is paid twice",
        {"calls": [call(15.0), call(25.0)], "attempts": [attempt(14.0, 19.0, "neutral", reason="replaced")]},
    ),
    "paid again after a fault of the provider": (
        "nothing is paid twice",
        {"calls": [call(15.0), call(25.0)], "attempts": [attempt(14.0, 16.5, "neutral", reason="blocked")]},
    ),
    "paid again after another chunk failed": (
        "nothing is paid twice",
        {
            "calls": [call(15.0), call(15.5, transcript="other", outcome="prose"), call(25.0)],
            "attempts": [attempt(14.0, 17.0, "failure", reason="not_json")],
        },
    ),
    "paid again after a later attempt failed at another chunk": (
        "nothing is paid twice",
        {
            "calls": [call(15.0), call(18.5, transcript="other", outcome="prose"), call(25.0)],
            "attempts": [
                attempt(14.0, 17.0, "neutral", reason="blocked"),
                attempt(18.0, 20.0, "failure", reason="not_json"),
            ],
        },
    ),
    "paid again, its worker killed long after": (
        "nothing is paid twice",
        {
            "calls": [call(15.0), call(25.0)],
            "attempts": [],
            "happened": [happened("worker killed", 20.0, 21.0, "worker1")],
        },
    ),
    "paid by nobody, and again": (
        "nothing is paid twice",
        {
            "calls": [call(15.0), call(25.0)],
            "attempts": [],
            "happened": [happened("host killed", 16.0, 17.0)],
        },
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_law_tells_of_what_breaks_it(name: str) -> None:
    """This law, and no other one, is broken."""
    law, fields = SPOILT[name]
    assert set(broken(well(**fields))) == {law}


def test_each_law_can_be_broken() -> None:
    """None is left out above."""
    assert {law for law, _ in SPOILT.values()} == set(LAWS)


ALLOWED: dict[str, dict[str, Any]] = {
    "data lost": {
        "attempts": [attempt(14.0, 17.0)],
        "happened": [happened("store lost its data", 18.0, 19.0)],
    },
    "summary failed": {"attempts": [attempt(14.0, 17.0, "failure")]},
    "summary failed, another chunk having been read by rules": {
        "attempts": [attempt(14.0, 19.0, "failure", reason="tool_call")],
        "calls": [
            call(15.0),
            call(15.5, transcript="other", outcome="tool_call"),
            call(17.0, chunk=False, transcript="merge", outcome="tool_call"),
            call(25.0),
        ],
    },
    "in flight when cancelled": {"attempts": [attempt(14.0, 16.5, "neutral", reason="replaced")]},
    "its memo on the way as the store went, its attempt cancelled long after": {
        "attempts": [attempt(14.0, 24.0, "neutral", reason="store_unavailable")],
        "happened": [happened("store black-holed", 15.5, 20.0)],
    },
    "worker killed": {"attempts": [], "happened": [happened("worker killed", 15.5, 17.0, "worker1")]},
    "worker stopped": {"attempts": [], "happened": [happened("worker stopped", 15.5, 28.0, "worker1")]},
    "store away": {"attempts": [], "happened": [happened("store frozen", 15.5, 28.0)]},
}


def test_a_later_attempt_may_delete_the_memo_that_it_met() -> None:
    """It had an answer to all its chunks, by memo or call, and its merge failed."""
    merge = call(19.0, chunk=False, transcript="merge", outcome="text")
    attempts = [
        attempt(14.0, 17.0, "failure", reason="not_json"),
        attempt(18.0, 21.0, "failure", reason="empty"),
    ]
    bad = call(15.5, transcript="other", outcome="prose")
    good = call(18.2, transcript="other")
    found = well(calls=[call(15.0), bad, good, merge, call(25.0)], attempts=attempts)
    assert broken(found) == {}


@pytest.mark.parametrize("why", ALLOWED)
def test_what_was_in_flight_may_be_paid_again(why: str) -> None:
    """There was no memo of it, or there is none any more; it is counted."""
    found = well(**{"calls": [call(15.0), call(25.0)], **ALLOWED[why]})
    assert broken(found) == {}
    assert again(found) == (1, 50)


def test_only_good_answers_to_the_same_text_count() -> None:
    """A call that failed is made again, other text is other text, and a merge has no memo."""
    others = [
        call(15.0, outcome="overloaded"),
        call(16.0),
        call(17.0, transcript="other"),
        call(18.0, chunk=False, transcript="merge"),
        call(19.0, chunk=False, transcript="merge"),
    ]
    assert broken(well(calls=others)) == {}


def test_a_host_without_memory_begins_anew_with_its_next_process() -> None:
    """A raw history holds no summary; a buffer does."""

    def back(raw: bool) -> Evidence:
        first = swapped(20, swap=swap(), raw=raw)
        later = swapped(22, swap=swap(), raw=raw, life=2, at=CALM + 1)
        return well(entries=[turn(18, raw=raw), first, later])

    assert broken(back(raw=True)) == {}
    assert set(broken(back(raw=False))) == {"versions rise"}


def test_another_life_of_the_state_begins_with_version_1() -> None:
    """Its records build on the summaries that hosts hold."""
    anew = swap(incarnation="two", version=1, body="x", base=10, position=20, covered=[[10, 20]], carried=[4])
    entries = [*BEFORE, turn(30, swap=anew, at=CALM + 1, **BEHIND_SECOND)]
    assert broken(well(entries=entries)) == {}


def test_what_a_report_declares_may_be_left_out() -> None:
    """A degraded view leaves out, a clipped message goes out and is declared as well."""
    degraded = swapped(30, sent=[[20, 30]], left_out=[[4, 5], [10, 21]], degraded=True, at=CALM + 1)
    assert broken(well(entries=[*BEFORE, degraded])) == {}
