"""`ebbtide jobs …`: what waits, runs or was given up; another try; taking a job out."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.jobs.words import NO_CLAIM, REFUSED
from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.tenant import Refusal, TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.permits import QUEUE
from ebbtide_core.policy import Mode
from ebbtide_core.store import fleet_calls, session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import ClaimStage, ClaimStatus, StateView
from tests.cli.by_hand import Command, ebbtide, printed, refused
from tests.cli.test_session import ACME, store
from tests.host.publisher import guarded, settle, take, work_once
from tests.host.talk import chat
from tests.store.clock import Database
from tests.store.fleet import TTL
from tests.store.fleet import job as made
from tests.waiting import wait_until

__all__ = ["ebbtide", "store"]

EVIL = "\u202e[bold]x[/bold]"


@pytest.fixture
def jobs(ebbtide: Command) -> Command:
    """Runs a subcommand."""
    return partial(ebbtide, "jobs")


def asked(server: EmbeddedServer, owner: Owner = ACME) -> None:
    """Have a host ask for a summary."""
    with Pool(server.url, policy=Policy(wait_budget=0.0, io_budget=10.0, keep_recent_tokens=300)) as pool:
        session = pool.session(
            tenant=owner.tenant, session_id=owner.session_id, model="gpt-test", context_window=4_000
        )
        session.prepare(chat(40))
        assert pool.flush()


def given_up(store: SyncStore) -> Job:
    """Lose the worker of the next job as often as it takes, and settle it as maintenance does."""
    taken = store.run(fleet_calls.take("lost", lease=0.001, max_queue_age=120, ttl=TTL)).job
    assert taken is not None
    assert guarded(store, taken).value == "go"
    lost: list[Job] = []

    def swept() -> bool:
        lost.extend(store.run(fleet_calls.sweep(tick=5, max_attempts=1, max_queue_age=120, ttl=TTL)).lost)
        return bool(lost)

    wait_until(swept, "the lease to run out")
    assert settle(store, taken, Outcome.FAILURE)
    return taken


def dead(server: EmbeddedServer, store: SyncStore, owner: Owner = ACME) -> Job:
    """A dead letter of a session."""
    asked(server, owner)
    return given_up(store)


def state(store: SyncStore, owner: Owner = ACME) -> StateView:
    """A session's state."""
    seen = store.run(session_calls.look(owner))
    assert seen is not None
    return seen


def permits(database: Database) -> int:
    """How many permits lie in the queue."""
    return int(database.llen(QUEUE))


def test_jobs_are_listed_running_ones_first(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """Of all tenants or of one, at most so many; and how many there are."""
    for session in ("a", "b"):
        asked(server, Owner("acme", session))
    asked(server, Owner("umbrella", "x"))
    running = take(store)
    assert running is not None
    told = printed(jobs, "list", "--json")
    assert (told["ready"], told["running"]) == (2, 1)
    assert [each["state"] for each in told["jobs"]] == ["running", "ready", "ready"]
    assert (told["jobs"][0]["job"], told["jobs"][0]["worker"]) == (running.job_id, "publisher")
    assert told["jobs"][1]["worker"] is None
    only = printed(jobs, "list", "--tenant", "umbrella", "--json")["jobs"]
    assert [each["session"] for each in only] == ["x"]
    text = jobs("list", "--limit", "2").stdout
    assert text.index("running") < text.index("ready")
    assert "2 of 3 jobs" in text


def test_dead_letters_are_listed_newest_first(
    jobs: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """With when and why, of all tenants or of one."""
    first = dead(server, store, Owner("acme", "first"))
    last = dead(server, store, Owner("umbrella", "last"))
    told = printed(jobs, "list", "--dead", "--json")
    assert [each["job"] for each in told["jobs"]] == [last.job_id, first.job_id]
    assert (told["jobs"][0]["state"], told["jobs"][0]["reason"]) == ("dead", "lease_lost_too_often")
    only = printed(jobs, "list", "--dead", "--tenant", "acme", "--json")
    assert (only["found"], only["jobs"][0]["session"]) == (1, "first")
    text = jobs("list", "--dead", "--limit", "1").stdout
    assert "lease_lost_too_often" in text
    assert "1 of 2 dead letters" in text


def test_without_jobs_the_lists_say_so(jobs: Command) -> None:
    """As JSON too."""
    assert "No jobs" in jobs("list").stdout
    assert "No dead letters." in jobs("list", "--dead").stdout
    assert printed(jobs, "list", "--json") == {"ready": 0, "running": 0, "jobs": []}


def test_a_job_is_shown_by_how_its_id_begins(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """Ready, running or dead; no content."""
    asked(server)
    id_ = printed(jobs, "list", "--json")["jobs"][0]["job"]
    assert "state       ready for" in jobs("show", id_[:6]).stdout
    given_up(store)
    told = printed(jobs, "show", id_[:6], "--json")
    assert (told["job"], told["state"], told["attempts"]) == (id_, "dead", 1)
    text = jobs("show", id_).stdout
    assert "lease_lost_too_often, 1 attempts" in text
    assert not any(word in text + json.dumps(told) for word in ("billing", "Postgres"))


def test_a_beginning_of_several_is_told(jobs: Command, store: SyncStore) -> None:
    """With their ids; so is one of none."""
    for session in ("a", "b"):
        store.run(fleet_calls.enqueue(made(session), ttl=TTL))
    assert "2 jobs begin with 'job': job-a, job-b" in refused(jobs, "show", "job")
    assert "ebbtide jobs list --dead" in refused(jobs, "show", "none")


def test_a_dead_letter_gets_another_try(
    jobs: Command, server: EmbeddedServer, store: SyncStore, database: Database
) -> None:
    """A new claim, a place in the index and a permit; its worker publishes, and the host swaps it in."""
    old = dead(server, store)
    sent = permits(database)
    told = printed(jobs, "retry", old.job_id[:8], "--json")
    assert told == {
        "job": old.job_id,
        "tenant": "acme",
        "session": "chat",
        "epoch": old.epoch + 1,
        "queued": True,
        "permit": True,
    }
    assert permits(database) == sent + 1
    claim = state(store).view.claim
    assert claim is not None
    assert (claim.job_id, claim.epoch, claim.stage) == (old.job_id, old.epoch + 1, ClaimStage.QUEUED)
    assert store.run(fleet_calls.dead_letters()) == ()
    assert store.run(tally_calls.tally(ACME))["enqueued"] == 2
    published = work_once(store)
    assert published is not None
    assert published.version == 1
    with Pool(server.url, policy=Policy(io_budget=10.0, keep_recent_tokens=300)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        assert session.prepare(chat(40)).swap is not None


def test_a_retry_is_told_to_people(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """Whose job it is; and it can't be retried once more."""
    old = dead(server, store)
    assert f"job {old.job_id[:8]} of acme / chat" in " ".join(jobs("retry", old.job_id).stdout.split())
    assert "the job is ready" in refused(jobs, "retry", old.job_id)


def test_a_permit_that_can_not_be_sent_is_told(
    jobs: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """The job is queued all the same; a password is not repeated."""
    old = dead(server, store)
    done = jobs("retry", old.job_id, "--json", "--broker", "redis://:hidden-word@127.0.0.1:1/0")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["permit"] is False
    assert "check --broker" in done.stderr
    assert "hidden-word" not in done.output
    assert take(store) is not None


def test_a_retry_that_the_session_does_not_want_is_told(
    jobs: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """Another compaction is going, a newer summary is there, the history is another; the letter stays."""
    old = dead(server, store)
    asked(server)
    assert "the job is ready" in refused(jobs, "retry", old.job_id)
    later = take(store)
    assert later is not None
    store.run(fleet_calls.done(later))
    assert NO_CLAIM[ClaimStatus.BUSY] in refused(jobs, "retry", old.job_id)
    assert settle(store, later, Outcome.NEUTRAL)
    asked(server)
    assert work_once(store)
    assert NO_CLAIM[ClaimStatus.BEHIND] in refused(jobs, "retry", old.job_id)
    store.run(session_calls.reset(ACME, fresh_incarnation="x", state_ttl=TTL))
    assert NO_CLAIM[ClaimStatus.STALE] in refused(jobs, "retry", old.job_id)
    assert len(store.run(fleet_calls.dead_letters())) == 1


def test_a_retry_against_an_open_breaker_is_told(
    jobs: Command, ebbtide: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """What to do first; then it goes."""
    old = dead(server, store)
    for _ in range(2):
        asked(server)
        again = take(store)
        assert again is not None
        assert settle(store, again, Outcome.FAILURE)
    assert state(store).view.breaker is BreakerState.OPEN
    assert "`ebbtide breaker reset`" in refused(jobs, "retry", old.job_id)
    ebbtide("breaker", "reset", "chat", "--tenant", "acme", "--yes")
    assert printed(jobs, "retry", old.job_id, "--json")["queued"]


def test_a_retry_while_two_hosts_disagree_is_told(
    jobs: Command, server: EmbeddedServer, store: SyncStore, database: Database
) -> None:
    """No claims are given for some turns."""
    old = dead(server, store)
    database.hset(ACME.state, "split_until", 10**6)
    assert NO_CLAIM[ClaimStatus.SPLIT_BRAIN] in refused(jobs, "retry", old.job_id)


def test_a_retry_whose_uploads_are_gone_is_told(
    jobs: Command, server: EmbeddedServer, store: SyncStore, database: Database
) -> None:
    """No claim is taken for it."""
    old = dead(server, store)
    database.delete(ACME.manifest(old.manifest_id))
    assert "has run out" in refused(jobs, "retry", old.job_id)
    assert state(store).view.claim is None


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (TenantPolicy(max_pending=0), Refusal.MAX_PENDING),
        (TenantPolicy(tokens_a_day=0), Refusal.TOKENS_A_DAY),
        (TenantPolicy(spend_a_day=0), Refusal.SPEND_A_DAY),
        (TenantPolicy(mode=Mode.OFF), Refusal.OFF),
    ],
)
def test_a_retry_that_is_not_admitted_is_told(
    jobs: Command, server: EmbeddedServer, store: SyncStore, policy: TenantPolicy, reason: Refusal
) -> None:
    """Which limit it was; the claim is free again, nothing counts, and the letter stays."""
    old = dead(server, store)
    failures = state(store).failures
    store.run(fleet_calls.limits_put("acme", policy))
    told = refused(jobs, "retry", old.job_id)
    assert REFUSED[reason] in told
    assert "`ebbtide tenant apply`" in told
    seen = state(store)
    assert (seen.view.claim, seen.failures) == (None, failures)
    assert len(store.run(fleet_calls.dead_letters())) == 1


def test_every_answer_has_words() -> None:
    """Whatever a session or the index may say."""
    assert set(NO_CLAIM) == set(ClaimStatus) - {ClaimStatus.OWN}
    assert set(REFUSED) == set(Refusal)


def test_a_dead_letter_is_dropped(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """Nothing else changes."""
    old, before = dead(server, store), None
    before = state(store).view
    assert printed(jobs, "drop", old.job_id, "--yes", "--json")["dropped"] == "dead"
    assert store.run(fleet_calls.dead_letters()) == ()
    assert state(store).view == before


def test_a_ready_job_is_dropped_with_its_claim(
    jobs: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """Its session may ask anew at once."""
    asked(server)
    id_ = printed(jobs, "list", "--json")["jobs"][0]["job"]
    assert "Dropped job" in jobs("drop", id_, "--yes").stdout
    assert state(store).view.claim is None
    assert take(store) is None
    asked(server)
    assert take(store) is not None


def test_dropping_leaves_another_claim_alone(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """One that the session has by now, of a later epoch."""
    asked(server)
    stale: dict[str, Any] = printed(jobs, "list", "--json")["jobs"][0]
    ended = store.run(session_calls.cancel(ACME, state_ttl=TTL))
    asked_again = store.run(
        session_calls.claim(
            ACME,
            incarnation=ended.incarnation,
            generation=ended.generation,
            job_id="another",
            position=made("x").position,
            new_tokens=1,
            min_new_tokens=0,
            waits=0,
            urgency=made("x").urgency,
            lease=30,
            state_ttl=TTL,
        )
    )
    assert asked_again.status is ClaimStatus.OWN
    assert printed(jobs, "drop", stale["job"], "--yes", "--json")["dropped"] == "ready"
    claim = state(store).view.claim
    assert claim is not None
    assert claim.job_id == "another"
    assert take(store) is None


def test_a_running_job_is_not_dropped(jobs: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """Who has it is told, and how it ends."""
    asked(server)
    running = take(store)
    assert running is not None
    assert "publisher" in refused(jobs, "drop", running.job_id, "--yes")
    assert "`session.cancel()`" in refused(jobs, "drop", running.job_id, "--yes")


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 1)])
def test_dropping_is_asked_about(
    jobs: Command, server: EmbeddedServer, store: SyncStore, said: str, code: int
) -> None:
    """Its effect is told before; only a yes drops anything."""
    asked(server)
    id_ = printed(jobs, "list", "--json")["jobs"][0]["job"]
    done = jobs("drop", id_, said=said)
    assert done.exit_code == code
    assert "its claim ends" in done.stdout
    assert (take(store) is not None) == bool(code)


def test_nothing_in_a_name_is_obeyed(jobs: Command, store: SyncStore) -> None:
    """Whatever a job says of itself."""
    job = made(EVIL, EVIL, job_id="evil", manifest_id=EVIL)
    store.run(fleet_calls.enqueue(job, ttl=TTL))
    texts = [jobs("list").stdout, jobs("show", "evil").stdout, jobs("drop", "evil", said="n\n").stdout]
    store.run(fleet_calls.take(EVIL, lease=0.001, max_queue_age=120, ttl=TTL))
    texts += [jobs("list").stdout, jobs("show", "evil").stdout, jobs("drop", "evil", "--yes").stderr]
    wait_until(
        lambda: bool(store.run(fleet_calls.sweep(tick=5, max_attempts=1, max_queue_age=120, ttl=TTL)).lost),
        "the lease to run out",
    )
    texts += [jobs("list", "--dead").stdout, jobs("show", "evil").stdout]
    texts += [jobs("drop", "evil", said="n\n").stdout, jobs("drop", "evil", "--yes").stdout]
    for text in texts:
        assert all(c.isprintable() or c == "\n" for c in text), text
        assert "[bold]x[/bold]" in text
