"""Reads the fleet's keys in the real store, every field of them, into the shape that the pure model keeps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ebbtide_core import names
from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.policy import Mode
from ebbtide_core.store.results import DeadLetter, DeathReason
from tests.protocol.model_index import Attempt, Index, Ready, Running, attempt_of, place_of
from tests.protocol.model_limits import Bill, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.store.clock import Database

SCORED = ("active", "since", "running", "tenants", "sessions", "dead")
HASHES = ("jobs", "attempts", "load", "meta", "limits", "spent", "credit", "letters", "places")


def fleet_index(database: Database) -> Index:
    """Return the fleet's keys as the model's index; what they say twice must agree."""
    pipe = database.pipeline(transaction=True)
    pipe.zrange(names.fleet("ready"), 0, -1)
    pipe.get(names.fleet("tick"))
    for name in SCORED:
        pipe.zrange(names.fleet(name), 0, -1, withscores=True)
    for name in HASHES:
        pipe.hgetall(names.fleet(name))
    places, maintainer, *rest = pipe.execute()
    active, since, running, tenants, sessions, dead, *hashes = rest
    jobs, attempts, load, meta, limits, spent, credit, letters, places_of = hashes
    index = Index(
        ready=_ready(jobs, dict(since), places_of),
        running=_running(attempts, dict(running), places_of),
        waiting=_serials(active),
        tenants=_serials(tenants),
        sessions=_serials(sessions),
        load=Counter(_counts(load)),
        serial=int(meta.get(b"serial", 0)),
        maintainer=maintainer.decode() if maintainer else None,
        limits={tenant.decode(): _limits(stored) for tenant, stored in limits.items()},
        bills={tenant.decode(): Bill(*map(int, stored.split())) for tenant, stored in spent.items()},
        credit=_counts(credit),
        dead=_dead(letters, dict(dead)),
        day=int(meta.get(b"day", 0)),
    )
    assert sorted(places) == sorted(place_of(ready).encode() for ready in index.ready.values())
    handed = {_named(ready.job) for ready in index.ready.values() if ready.handed}
    assert places_of.keys() == attempts.keys() | handed
    return index


def _ready(
    jobs: Mapping[bytes, bytes], since: Mapping[bytes, float], places: Mapping[bytes, bytes]
) -> dict[str, Ready]:
    assert jobs.keys() == since.keys()
    found = {}
    for member, stored in jobs.items():
        urgency, served, order, incarnation, generation, epoch, attempt, document = stored.split(b" ", 7)
        job = _job(document, urgency, attempt)
        numbers = (names.encoded(job.incarnation), job.generation, job.epoch)
        assert numbers == (incarnation.decode(), int(generation), int(epoch))
        assert job.owner.member == member.decode()
        handed = int(places.get(_named(job), 0))
        found[member.decode()] = Ready(job, since[member] / 1000, int(served), int(order), handed)
    return found


def _running(
    attempts: Mapping[bytes, bytes], until: Mapping[bytes, float], places: Mapping[bytes, bytes]
) -> dict[Attempt, Running]:
    assert attempts.keys() == until.keys()
    found: dict[Attempt, Running] = {}
    for name, stored in attempts.items():
        member, incarnation, generation, epoch, attempt = name.decode().split(" ")
        worker, urgency, document = stored.split(b" ", 2)
        handed, taken, served, order, turn = map(int, places[name].split())
        key = (member, incarnation, int(generation), int(epoch), int(attempt))
        job = _job(document, urgency, attempt.encode())
        place = (served, order, handed, turn)
        found[key] = Running(job, worker.decode(), until[name] / 1000, taken / 1000, *place)
    return found


def _named(job: Job) -> bytes:
    return " ".join(map(str, attempt_of(job))).encode()


def _dead(letters: Mapping[bytes, bytes], died: Mapping[bytes, float]) -> dict[str, DeadLetter]:
    assert letters.keys() == died.keys()
    found = {}
    for name, stored in letters.items():
        reason, member, urgency, attempt, document = stored.split(b" ", 4)
        job = _job(document, urgency, attempt)
        assert (job.job_id, job.owner.member) == (name.decode(), member.decode())
        found[job.job_id] = DeadLetter(job, DeathReason(reason.decode()), died[name] / 1000)
    return found


def _limits(stored: bytes) -> Limits:
    mode, *figures = stored.decode().split(" ")
    concurrency, weight, pending, tokens, micros = (None if f == "-" else int(f) for f in figures)
    assert weight is not None
    return Limits(Mode(mode), concurrency, weight, pending, tokens, micros)


def _job(document: bytes, urgency: bytes, attempt: bytes) -> Job:
    changed = {"urgency": Urgency(urgency.decode()), "attempt": int(attempt)}
    return Job.from_json(document).model_copy(update=changed)


def _counts(stored: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(number) for name, number in stored.items()}


def _serials(scored: list[tuple[bytes, float]]) -> dict[str, int]:
    return {name.decode(): int(score) for name, score in scored}
