"""Reads a session's hash in the real store, every field of it, into the shape that the pure model keeps."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ebbtide_core.breaker import Breaker, BreakerState
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store.results import ClaimStage
from tests.protocol.model_session import Claim, State

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    failures, turns, probe = (int(fields.get(name, "0")) for name in ("failures", "turns", "probe"))
    opened = int(fields["opened"]) / 1000 if "opened" in fields else None
    return Breaker(BreakerState(fields.get("state", "closed")), failures, turns, probe, opened)


def _latest(fields: dict[str, str], read: Any) -> OrderedDict[str, Any]:
    """Return values stored as `<number of use> <value>`, latest use last."""
    used = {name: value.split(" ", 1) for name, value in fields.items()}
    return OrderedDict((name, read(used[name][1])) for name in sorted(used, key=lambda n: int(used[n][0])))
