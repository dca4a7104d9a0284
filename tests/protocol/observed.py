"""Reads the real store's keys, every field of them, into the shapes that the pure model keeps."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

from ebbtide_core import names
from ebbtide_core.breaker import Breaker, BreakerState
from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store.results import ClaimStage
from tests.protocol.model_fleet import Attempt, Index, Ready, Running
from tests.protocol.model_session import Claim, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.store.clock import Database


def session_state(stored: Mapping[bytes, bytes]) -> State | None:
    """Return a session's hash as the model's state; an unknown field is an error."""
    if not stored:
        return None
    fields = {name.decode(): value.decode() for name, value in stored.items()}

    def number(name: str) -> int:
        return int(fields.pop(name, "0"))

    state = State(
        incarnation=fields.pop("inc"),
        generation=number("gen"),
        newest=After(number=number("newest"), body=fields.pop("newest_body", "")),
        headers=_headers(_prefixed(fields, "h:")),
        claim=_claim(_prefixed(fields, "claim_")),
        breaker=_breaker(_prefixed(fields, "brk_")),
        turns=number("turns"),
        epoch=number("epoch"),
        hosts=_latest(_prefixed(fields, "host:"), int),
        forks=[int(turn) for turn in fields.pop("forks", "").split(",") if turn],
        refused_until=number("split_until"),
        ratio=_latest(_prefixed(fields, "ratio:"), float),
        mode=fields.pop("mode", None),
    )
    assert fields.keys() <= {"uses", "ttl"}, f"fields of no known meaning: {fields}"
    return state


def fleet_index(database: Database) -> Index:
    """Return the fleet's keys as the model's index; what they say twice must agree."""
    pipe = database.pipeline(transaction=True)
    pipe.zrange(names.fleet("ready"), 0, -1)
    for name in ("active", "since", "running", "tenants", "sessions"):
        pipe.zrange(names.fleet(name), 0, -1, withscores=True)
    for name in ("jobs", "attempts", "load", "meta"):
        pipe.hgetall(names.fleet(name))
    pipe.get(names.fleet("tick"))
    *scored, jobs, attempts, load, meta, maintainer = pipe.execute()
    places, active, since, running, tenants, sessions = scored
    index = Index(
        ready=_ready(jobs, dict(since)),
        running=_running(attempts, dict(running)),
        waiting=_serials(active),
        tenants=_serials(tenants),
        sessions=_serials(sessions),
        load=Counter({tenant.decode(): int(n) for tenant, n in load.items()}),
        serial=int(meta.get(b"serial", 0)),
        maintainer=maintainer.decode() if maintainer else None,
    )
    assert sorted(places) == sorted(_place(member, ready) for member, ready in index.ready.items())
    return index


def _ready(jobs: Mapping[bytes, bytes], since: Mapping[bytes, float]) -> dict[str, Ready]:
    assert jobs.keys() == since.keys()
    found = {}
    for member, stored in jobs.items():
        urgency, served, order, incarnation, generation, epoch, attempt, document = stored.split(b" ", 7)
        job = _job(document, urgency, attempt)
        numbers = (names.encoded(job.incarnation), job.generation, job.epoch)
        assert numbers == (incarnation.decode(), int(generation), int(epoch))
        found[member.decode()] = Ready(job, since[member] / 1000, int(served), int(order))
    return found


def _running(attempts: Mapping[bytes, bytes], until: Mapping[bytes, float]) -> dict[Attempt, Running]:
    assert attempts.keys() == until.keys()
    found: dict[Attempt, Running] = {}
    for name, stored in attempts.items():
        member, incarnation, generation, epoch, attempt = name.decode().split(" ")
        worker, urgency, document = stored.split(b" ", 2)
        key = (member, incarnation, int(generation), int(epoch), int(attempt))
        job = _job(document, urgency, attempt.encode())
        found[key] = Running(job, worker.decode(), until[name] / 1000)
    return found


def _job(document: bytes, urgency: bytes, attempt: bytes) -> Job:
    changed = {"urgency": Urgency(urgency.decode()), "attempt": int(attempt)}
    return Job.from_json(document).model_copy(update=changed)


def _place(member: str, ready: Ready) -> bytes:
    tenant, session = member.split("/")
    rank = 0 if ready.job.urgency is Urgency.HI else 1
    return f"{tenant}/{rank}/{ready.served:016}/{ready.order:016}/{session}".encode()


def _serials(scored: list[tuple[bytes, float]]) -> dict[str, int]:
    return {name.decode(): int(score) for name, score in scored}


def _prefixed(fields: dict[str, str], prefix: str) -> dict[str, str]:
    names = [name for name in fields if name.startswith(prefix)]
    return {name.removeprefix(prefix): fields.pop(name) for name in names}


def _headers(fields: dict[str, str]) -> list[RecordHeader]:
    return [_header(int(version), *fields[version].split(" ")) for version in sorted(fields, key=int)]


def _header(version: int, generation: str, position: str, withdrawn: str, body: str) -> RecordHeader:
    return RecordHeader(
        version=version,
        generation=int(generation),
        position=Position.parse(position),
        body=body,
        withdrawn=withdrawn == "1",
    )


def _claim(fields: dict[str, str]) -> Claim | None:
    if not fields:
        return None
    return Claim(
        job_id=fields["job"],
        generation=int(fields["generation"]),
        epoch=int(fields["epoch"]),
        position=Position.parse(fields["position"]),
        urgency=Urgency(fields["urgency"]),
        until=int(fields["until"]) / 1000,
        stage=ClaimStage(fields["stage"]),
        attempt=int(fields["attempt"]),
    )


def _breaker(fields: dict[str, str]) -> Breaker:
    return Breaker(
        BreakerState(fields.get("state", "closed")),
        *(int(fields.get(name, "0")) for name in ("failures", "turns", "probe")),
    )


def _latest(fields: dict[str, str], read: Any) -> OrderedDict[str, Any]:
    """Return values stored as `<number of use> <value>`, latest use last."""
    used = {name: value.split(" ", 1) for name, value in fields.items()}
    return OrderedDict((name, read(used[name][1])) for name in sorted(used, key=lambda n: int(used[n][0])))
