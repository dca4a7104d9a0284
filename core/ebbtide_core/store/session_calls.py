"""The scripts of one session's state. Leases and lifetimes are in seconds, cool-downs in counted turns
unless named otherwise."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ebbtide_core.breaker import BreakerState
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.errors import ContractError
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store.results import (
    CancelResult,
    ClaimResult,
    ClaimStage,
    ClaimStatus,
    ClaimView,
    GuardStatus,
    PublishResult,
    PublishStatus,
    Reviewed,
    SessionView,
    StateView,
)
from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ebbtide_core.breaker import Outcome
    from ebbtide_core.contract.job import Job
    from ebbtide_core.names import Owner
    from ebbtide_core.policy import Mode


def turn(
    owner: Owner,
    *,
    host: str,
    seq: int,
    fresh_incarnation: str,
    model: str,
    ratio: float | None = None,
    state_ttl: float,
    breaker_cooldown: int,
    breaker_cooldown_seconds: float | None = None,
) -> Call[SessionView]:
    """Count a turn, once per host and rising `seq`, and read the session. Creates the state when absent.

    `ratio` (tokens reported over estimated) is stored for the model. The 16 latest hosts and models stay. An
    open breaker becomes half-open at the `breaker_cooldown`-th counted turn, or, whichever comes first, at
    the first turn that is `breaker_cooldown_seconds` after it opened (None: at the counted turn alone).
    """
    given = "" if ratio is None else float(ratio)
    seconds = "" if breaker_cooldown_seconds is None else ms(breaker_cooldown_seconds)
    argv = (host, seq, fresh_incarnation, model, given, ms(state_ttl), breaker_cooldown, seconds)
    return Call("turn", (owner.state,), argv, _session_view)


def fork(
    owner: Owner, *, incarnation: str, generation: int, state_ttl: float, cooldown: int
) -> Call[int | None]:
    """Begin a new generation if the one seen is still the present one: the history changed before a position.

    Returns the new generation, None when raced or the state is gone. The claim ends. Three forks within ten
    counted turns refuse claims for `cooldown` counted turns.
    """
    return Call("fork", (owner.state,), (incarnation, generation, ms(state_ttl), cooldown), _optional_int)


def reset(owner: Owner, *, fresh_incarnation: str, state_ttl: float) -> Call[int]:
    """Begin a new generation whatever was seen, and return it. The claim ends; not counted as a fork."""
    return Call("reset", (owner.state,), (fresh_incarnation, ms(state_ttl)), int)


def claim(
    owner: Owner,
    *,
    incarnation: str,
    generation: int,
    job_id: str,
    position: Position,
    new_tokens: int,
    min_new_tokens: int,
    waits: int,
    urgency: Urgency,
    lease: float,
    state_ttl: float,
) -> Call[ClaimResult]:
    """Ask for the session's one claim.

    `new_tokens` lie between the newest record on the host's chain and `position`. `waits` is the version of a
    record that the host could swap this turn, 0 for none. `lease` lasts until the job is queued.
    """
    argv = (
        incarnation,
        generation,
        job_id,
        str(position),
        new_tokens,
        min_new_tokens,
        waits,
        urgency.value,
        ms(lease),
        ms(state_ttl),
    )
    return Call("claim", (owner.state,), argv, _claim_result)


def queued(owner: Owner, *, job_id: str, epoch: int, lease: float) -> Call[bool]:
    """Note that the claimed job is in the ready index; False when the claim is another's or further on."""
    return Call("queued", (owner.state,), (job_id, epoch, ms(lease)), bool)


def requeued(owner: Owner, *, job_id: str, epoch: int, attempt: int, lease: float) -> Call[bool]:
    """Note that a worker handed the claimed job back to the ready index; its claim lives for `lease` again.

    `attempt` is the one handed back; from now on the next one holds the claim. False when the claim is
    another's or of a later attempt, as it is once another worker that took the job has asked its guard.
    """
    return Call("requeued", (owner.state,), (job_id, epoch, attempt, ms(lease)), bool)


def guard(
    owner: Owner,
    *,
    incarnation: str,
    generation: int,
    job_id: str,
    epoch: int,
    attempt: int,
    after: After,
    lease: float,
) -> Call[GuardStatus]:
    """Ask, as a worker, whether this attempt may start or go on; GO renews its claim for `lease`."""
    argv = (incarnation, generation, job_id, epoch, attempt, after.number, after.body, ms(lease))
    return Call("guard", (owner.state,), argv, _guard_status)


def publish(
    owner: Owner,
    *,
    record_bytes: bytes,
    header: RecordHeader,
    after: After,
    incarnation: str,
    kept: int,
    state_ttl: float,
) -> Call[PublishResult]:
    """Store a record, already compressed, as the version that follows `after`, and settle success.

    `kept` is how many records stay, the new one included. Raises ValueError when the header's version is not
    `after`'s plus one.
    """
    if header.version != after.number + 1:
        raise ValueError(f"version {header.version} does not follow {after.number}")
    gone = (owner.record(header.version - kept),) if header.version > kept else ()
    argv = (
        incarnation,
        header.generation,
        after.number,
        after.body,
        str(header.position),
        header.body,
        record_bytes,
        kept,
        ms(state_ttl),
    )
    return Call("publish", (owner.state, owner.record(header.version), *gone), argv, _publish_result)


def settle(
    owner: Owner,
    *,
    incarnation: str,
    generation: int,
    job_id: str,
    epoch: int,
    attempt: int,
    outcome: Outcome,
    breaker_failures: int,
    state_ttl: float,
) -> Call[bool]:
    """End the claim with an outcome; False, and nothing changes, unless this attempt holds the claim, or an
    earlier one of its job does (the later one's worker may have died before it asked the guard).
    """
    argv = (incarnation, generation, job_id, epoch, attempt, outcome.value, breaker_failures, ms(state_ttl))
    return Call("settle", (owner.state,), argv, bool)


def settle_attempt(job: Job, outcome: Outcome, *, breaker_failures: int, state_ttl: float) -> Call[bool]:
    """End the claim of a job's attempt with an outcome; see `settle`."""
    return settle(
        job.owner,
        incarnation=job.incarnation,
        generation=job.generation,
        job_id=job.job_id,
        epoch=job.epoch,
        attempt=job.attempt,
        outcome=outcome,
        breaker_failures=breaker_failures,
        state_ttl=state_ttl,
    )


def withdraw(owner: Owner, version: int) -> Call[bool]:
    """Mark a kept record as withdrawn; False when it is not kept."""
    return Call("withdraw", (owner.state,), (version,), bool)


def cancel(owner: Owner, *, state_ttl: float) -> Call[CancelResult]:
    """End the session's claim, whatever its stage and whoever has it, and return what was ended.

    The breaker hears of no outcome; a probe ends with its claim. A worker that has the job is told REPLACED
    at its next guard; a record that it publishes before that still counts. `fleet_calls.unqueue` takes the
    job out of the index.
    """
    return Call("cancel", (owner.state,), (ms(state_ttl),), _cancel_result)


def breaker_reset(owner: Owner) -> Call[bool]:
    """Close the session's breaker and forget its failures; False without state.

    A claim that is there stays, and its outcome counts.
    """
    return Call("breaker_reset", (owner.state,), (), bool)


def set_mode(owner: Owner, mode: Mode | None) -> Call[bool]:
    """Set how far hosts may go in the session, from their next turn on; None: as they ask. False without
    state."""
    return Call("set_mode", (owner.state,), ("" if mode is None else mode.value,), bool)


def memos_used(
    owner: Owner, digests: Sequence[str], *, incarnation: str, generation: int, ttl: float
) -> Call[bool]:
    """Note, before a worker reads or stores them, which memos hold partials of the session.

    `ttl` is the lifetime of memos. False, and the worker must stop, when the session is of another life.
    """
    keys = (owner.state, owner.memos)
    return Call("memos_used", keys, (incarnation, generation, ms(ttl), *digests), bool)


def memo_names(owner: Owner) -> Call[tuple[str, ...]]:
    """Return the names of the memos that may hold partials of the session."""
    return Call("memo_names", (owner.memos,), (), _texts)


def look(owner: Owner) -> Call[StateView | None]:
    """Read a session and change nothing; None when it has no state. No ratio is told."""
    return Call("look", (owner.state,), (), _state_view)


def review_add(owner: Owner, entry: bytes | str, *, kept: int, ttl: float) -> Call[int]:
    """List a degraded turn, with the server's time, and return how many are listed: the newest `kept`.

    `entry` is a `ReviewEntry` as JSON. The list lives for `ttl` seconds from now.
    """
    return Call("review_add", (owner.review,), (entry, kept, ms(ttl)), int)


def review_list(owner: Owner) -> Call[tuple[Reviewed, ...]]:
    """Read the degraded turns listed for review, newest first; entries of another major are left out."""
    return Call("review_list", (owner.review,), (), _reviewed)


def _session_view(reply: Any) -> SessionView:
    incarnation, generation, newest, body, turns, breaker, split, mode, ratio, claimed, headers = reply
    return SessionView(
        incarnation=text(incarnation),
        generation=generation,
        newest=After(number=newest, body=text(body)),
        turns=turns,
        breaker=BreakerState(text(breaker)),
        split_brain=bool(split),
        mode=None if mode is None else text(mode),
        ratio=None if ratio is None else float(ratio),
        claim=None if claimed is None else _claim_view(claimed),
        headers=tuple(map(_header, headers)),
    )


def _claim_view(reply: Any) -> ClaimView:
    job_id, generation, epoch, position, stage, urgency = reply
    return ClaimView(
        job_id=text(job_id),
        generation=generation,
        epoch=epoch,
        position=Position.parse(text(position)),
        stage=ClaimStage(text(stage)),
        urgency=Urgency(text(urgency)),
    )


def _header(reply: Any) -> RecordHeader:
    version, generation, position, body, withdrawn = reply
    return RecordHeader(
        version=version,
        generation=generation,
        position=Position.parse(text(position)),
        body=text(body),
        withdrawn=bool(withdrawn),
    )


def _cancel_result(reply: Any) -> CancelResult:
    if reply is None:
        return CancelResult()
    job_id, incarnation, generation, epoch, stage = reply
    return CancelResult(text(job_id), text(incarnation), generation, epoch, ClaimStage(text(stage)))


def _state_view(reply: Any) -> StateView | None:
    if reply is None:
        return None
    idle_ms, (failures, turns, opened_ms), view = reply
    opened = None if opened_ms is None else max(0, opened_ms) / 1000
    return StateView(_session_view(view), max(0, idle_ms) / 1000, failures, turns, opened)


def _reviewed(reply: Any) -> tuple[Reviewed, ...]:
    found = []
    for line in reply:
        at_ms, _, entry = line.partition(b" ")
        with suppress(ContractError):
            found.append(Reviewed(int(at_ms) / 1000, ReviewEntry.from_json(entry)))
    return tuple(found)


def _texts(reply: Any) -> tuple[str, ...]:
    return tuple(map(text, reply))


def _claim_result(reply: Any) -> ClaimResult:
    status = ClaimStatus(text(reply[0]))
    if status is ClaimStatus.OWN:
        _, epoch, number, body = reply
        return ClaimResult(status, epoch=epoch, after=After(number=number, body=text(body)))
    if status is ClaimStatus.BUSY:
        return ClaimResult(status, stage=ClaimStage(text(reply[1])))
    return ClaimResult(status, version=reply[1] if status is ClaimStatus.READY else 0)


def _guard_status(reply: Any) -> GuardStatus:
    return GuardStatus(text(reply))


def _publish_result(reply: Any) -> PublishResult:
    return PublishResult(PublishStatus(text(reply[0])), *reply[1:])


def _optional_int(reply: Any) -> int | None:
    return None if reply is None else int(reply)
