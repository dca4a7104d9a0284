"""How jobs are shown, to people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import Console

from ebbtide_cli.hand.look import DIGITS, ago, moment, position, show_facts, show_list, table
from ebbtide_cli.jobs.desk import Found
from ebbtide_cli.replay.view import safe
from ebbtide_cli.session import document
from ebbtide_core.contract.job import Job
from ebbtide_core.store.results import DeadLetter, JobList, JobState, ListedJob

DEAD: Final = "dead"


def state_of(found: Found) -> str:
    """Return where a job is: ready, running or dead."""
    return DEAD if isinstance(found, DeadLetter) else found.state.value


def of_named(job: Job) -> dict[str, Any]:
    """Return which job it is, and whose."""
    return {"job": job.job_id, **document.named(job.owner)}


def of_job(found: Found) -> dict[str, Any]:
    """Return all that is known of a job, but for content."""
    job = found.job
    told = {
        **of_named(job),
        "state": state_of(found),
        "incarnation": job.incarnation,
        "generation": job.generation,
        "epoch": job.epoch,
        "attempt": job.attempt,
        "position": str(job.position),
        "base_version": job.base_version,
        "after": job.after.number,
        "urgency": job.urgency.value,
        "manifest": job.manifest_id,
    }
    if isinstance(found, DeadLetter):
        return {**told, "reason": found.reason.value, "died_at": moment(found.at), "attempts": found.attempts}
    return {**told, "age_seconds": round(found.age, 3), "worker": found.worker or None}


def _shown(found: JobList, limit: int) -> tuple[ListedJob, ...]:
    """Return at most so many jobs, running ones first."""
    running = [each for each in found.jobs if each.state is JobState.RUNNING]
    ready = [each for each in found.jobs if each.state is JobState.READY]
    return tuple([*running, *ready][:limit])


def of_list(found: JobList, limit: int) -> dict[str, Any]:
    """Return jobs of the index, running ones first, and how many there are."""
    jobs = [of_job(each) for each in _shown(found, limit)]
    return {"ready": found.ready, "running": found.running, "jobs": jobs}


def show_jobs(console: Console, found: JobList, limit: int) -> None:
    """Show a line for each job of the index, running ones first."""
    rows = table("job", "tenant", "session", "state", "for", "urgency", "up to", "epoch", "attempt", "worker")
    for each in _shown(found, limit):
        job = each.job
        rows.add_row(
            *_first(job),
            each.state.value,
            ago(each.age),
            job.urgency.value,
            position(job.position),
            str(job.epoch),
            str(job.attempt),
            safe(each.worker) or "-",
        )
    show_list(console, rows, found.ready + found.running, "jobs that wait or run")


def show_letters(console: Console, letters: Sequence[DeadLetter], found: int) -> None:
    """Show a line for each dead letter."""
    rows = table("job", "tenant", "session", "died at", "reason", "attempts", "up to", "epoch")
    for letter in letters:
        job = letter.job
        rows.add_row(
            *_first(job),
            moment(letter.at),
            letter.reason.value,
            f"{letter.attempts:,}",
            position(job.position),
            str(job.epoch),
        )
    show_list(console, rows, found, "dead letters")


def _first(job: Job) -> tuple[str, str, str]:
    return safe(job.job_id[:DIGITS]), safe(job.tenant), safe(job.session_id)


def named(job: Job) -> str:
    """Return a job and whose it is, safe to be shown."""
    digits, tenant, session = _first(job)
    return f"job {digits} of {tenant} / {session}"


def show_job(console: Console, found: Found) -> None:
    """Show all that is known of a job, but for content."""
    show_facts(console, _facts(found))


def _facts(found: Found) -> Iterator[tuple[str, str]]:
    job = found.job
    yield "job", safe(job.job_id)
    yield "session", f"{safe(job.tenant)} / {safe(job.session_id)}"
    if isinstance(found, DeadLetter):
        yield "state", f"dead since {moment(found.at)}: {found.reason.value}, {found.attempts} attempts"
    else:
        whose = f", with {safe(found.worker)}" if found.worker else ""
        yield "state", f"{found.state.value} for {ago(found.age)}{whose}"
    yield "claim", f"epoch {job.epoch}, attempt {job.attempt}, {job.urgency.value}"
    yield "up to", f"{position(job.position)}, after version {job.after.number}"
    yield "of life", f"{safe(job.incarnation)}, generation {job.generation}"
    yield "manifest", safe(job.manifest_id)
