"""The JSON of the session command: plain values under stable names; times are UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ebbtide_cli.hand.look import moment
from ebbtide_cli.session.desk import Degraded, Seen, Version
from ebbtide_cli.session.difference import Difference
from ebbtide_core.names import Owner
from ebbtide_core.store.forget import Forgotten
from ebbtide_core.store.results import Reviewed, StateView


def named(owner: Owner) -> dict[str, Any]:
    """Return which session it is about."""
    return {"tenant": owner.tenant, "session": owner.session_id}


def of_session(seen: Seen) -> dict[str, Any]:
    """Return a session's line in the list."""
    view = seen.state.view
    return {
        **named(seen.owner),
        "idle_seconds": round(seen.state.idle, 3),
        "turns": view.turns,
        "newest": view.newest.number,
        "kept": len(view.headers),
        "breaker": view.breaker.value,
        "claim": view.claim.stage.value if view.claim else None,
        "mode": view.mode,
    }


def of_degraded(found: Degraded) -> dict[str, Any]:
    """Return a session's line in the list of those with degraded turns."""
    last = found.turns[0]
    return {**named(found.owner), "degraded_turns": len(found.turns), "last": of_turn(last)}


def of_turn(reviewed: Reviewed) -> dict[str, Any]:
    """Return a degraded turn."""
    return {"at": moment(reviewed.at), **reviewed.entry.model_dump(mode="json")}


def of_state(seen: Seen) -> dict[str, Any]:
    """Return a session's state."""
    state, view = seen.state, seen.state.view
    return {
        **of_session(seen),
        "incarnation": view.incarnation,
        "generation": view.generation,
        **of_breaker(state),
        "split_brain": view.split_brain,
        "claim": _claim(state),
    }


def of_breaker(state: StateView) -> dict[str, Any]:
    """Return a session's breaker."""
    return {
        "breaker": state.view.breaker.value,
        "failures_in_a_row": state.failures,
        "turns_open": state.turns_open,
        "seconds_open": state.seconds_open,
    }


def _claim(state: StateView) -> dict[str, Any] | None:
    claim = state.view.claim
    if claim is None:
        return None
    return {
        "job": claim.job_id,
        "generation": claim.generation,
        "epoch": claim.epoch,
        "position": str(claim.position),
        "stage": claim.stage.value,
        "urgency": claim.urgency.value,
    }


def of_version(version: Version) -> dict[str, Any]:
    """Return a kept version: its figures, no content."""
    header, record = version.header, version.record
    told: dict[str, Any] = {
        "version": header.version,
        "generation": header.generation,
        "position": str(header.position),
        "withdrawn": header.withdrawn,
        "body": header.body,
    }
    if record is None:
        return {**told, "problem": version.problem}
    return {
        **told,
        "base_version": record.base_version,
        "kind": record.kind.value,
        "degraded": record.degraded,
        "source_tokens": record.source_tokens,
        "summary_tokens": record.summary_tokens,
        "chunks": len(record.coverage),
        "carried": len(record.carried),
        "summariser": record.summariser.model_dump(mode="json"),
        "usage": record.usage.model_dump(mode="json"),
        "cost": record.cost,
        "created_at": moment(record.created_at),
        "job": record.job_id,
    }


def of_show(
    seen: Seen, versions: Sequence[Version], tally: Mapping[str, int], turns: Sequence[Reviewed]
) -> dict[str, Any]:
    """Return all that is known of a session, but for content."""
    return {
        **of_state(seen),
        "versions": [of_version(version) for version in versions],
        "jobs": dict(tally),
        "degraded_turns": [of_turn(turn) for turn in turns],
    }


def of_difference(owner: Owner, earlier: int, later: int, found: Difference) -> dict[str, Any]:
    """Return what differs between two versions."""
    texts = {text.field: {"before": text.before, "after": text.after} for text in found.texts}
    lists = {each.field: {"gained": each.gained, "lost": each.lost} for each in found.lists}
    return {**named(owner), "from": earlier, "to": later, "changed": {**texts, **lists}}


def of_forgotten(owner: Owner, gone: Forgotten) -> dict[str, Any]:
    """Return what was removed, and what is left."""
    removed = {"keys": gone.keys, "memos": gone.memos, "ready_jobs": gone.ready, "running_jobs": gone.running}
    return {**named(owner), "removed": removed, "left": asdict(gone.left)}
