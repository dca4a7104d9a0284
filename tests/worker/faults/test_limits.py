"""What no single behaviour is: limits of the provider, time that runs out, failures in a row."""

from __future__ import annotations

from collections import Counter

import pytest

from ebbtide_core import metrics
from ebbtide_core.store.results import ClaimStatus
from tests.standin import Behaviour, Kind, Limits, Rate, Settings
from tests.worker.faults.rehearsal import CHUNKS, WHEN, Seen, conversation, host_of, look, maps
from tests.worker.faults.scene import Scene
from tests.worker.faults.table import Where
from tests.worker.hostside import HostSide

pytestmark = pytest.mark.processes


def met(scene: Scene, settings: Settings, host: HostSide) -> Seen:
    """Return what is found after one job under these settings, which then hold no more."""
    scene.listen()
    scene.standin.control.set(settings)
    before = scene.figures()
    scene.do(host, conversation())
    seen = look(scene, host, before)
    scene.recover()
    return seen


@pytest.mark.parametrize(
    ("settings", "outcome", "reason", "memos"),
    [
        (Settings(window=600), "failure", "too_long", 0),
        (Settings(max_bytes=3_000), "failure", "too_large", 0),
        (Settings(limits=Limits(requests=2, per=1_000)), "neutral", "rate_limited", 2),
    ],
)
def test_a_limit_that_is_met_ends_the_job(
    scene: Scene, settings: Settings, outcome: str, reason: str, memos: int
) -> None:
    """More tokens than the window, by real count, however little is shown; more bytes than the API takes;
    more requests than it takes before the job's time is over.
    """
    host = host_of(scene, reason, job_deadline=30.0)
    seen = met(scene, settings, host)

    assert seen.count(metrics.JOBS) == Counter({(outcome, reason): 1})
    assert CHUNKS <= len(seen.requests) <= 3 * CHUNKS
    assert Counter(entry["status"] == 200 for entry in seen.requests)[True] == memos
    assert (seen.version, seen.failures, seen.memos) == (0, int(outcome == "failure"), memos)

    scene.do(host, conversation())
    assert host.record(1).version == 1
    assert len(maps(scene.standin.control.requests(settled=True))) == CHUNKS - memos


def test_a_window_that_is_smaller_than_thought_is_met_with_smaller_calls(scene: Scene) -> None:
    """Each chunk is made in pieces that fit, and the job is published whole."""
    host = host_of(scene, "small")
    seen = met(scene, Settings(window=1_500), host)

    assert seen.count(metrics.JOBS) == Counter({("success", "published"): 1})
    assert seen.count(metrics.SUMMARISER_RETRIES)["shrink",] > 0
    assert seen.record is not None
    assert not seen.record.degraded
    shown = Counter(one for entry in maps(seen.requests) if entry["status"] == 200 for one in entry["ids"])
    assert set(shown.values()) == {1}


def test_a_call_that_hangs_until_the_job_s_time_is_over_is_the_provider_s(scene: Scene) -> None:
    """The job's deadline comes before the call's: neutral, as a time-out, and the call is hung up on."""
    host = host_of(scene, "deadline", job_deadline=4.0)
    hanging = Rate(share=1, behaviour=Behaviour(kind=Kind.HANG, when=WHEN[Where.MERGE]))
    seen = met(scene, Settings(rates=(hanging,)), host)

    assert seen.count(metrics.JOBS) == Counter({("neutral", "timeout"): 1})
    assert [entry["outcome"] for entry in seen.requests[CHUNKS:]] == ["client_gone"]
    assert (seen.version, seen.failures, seen.memos) == (0, 0, CHUNKS)


@pytest.mark.parametrize(
    ("kind", "answer"), [(Kind.REFUSAL, ClaimStatus.BREAKER_OPEN), (Kind.OVERLOADED, ClaimStatus.OWN)]
)
def test_only_failures_in_a_row_open_the_breaker(scene: Scene, kind: Kind, answer: ClaimStatus) -> None:
    """After three refusals a session claims no more for a while; the provider's own trouble never counts."""
    scene.listen()
    host = host_of(scene, kind)
    scene.standin.control.set(Settings(rates=(Rate(share=1, behaviour=Behaviour(kind=kind)),)))
    for _ in range(3):
        scene.do(host, conversation())
    asked = len(scene.standin.control.requests(settled=True))
    scene.standin.control.reset()

    assert scene.claim(host, conversation()) is answer
    assert asked >= 3
