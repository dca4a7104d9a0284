"""What each subcommand of `ebbtide jobs` does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ebbtide_cli.hand.store import opened_store
from ebbtide_cli.hand.talk import asked, console, errors_told, print_json, whose
from ebbtide_cli.jobs import view
from ebbtide_cli.jobs.desk import Found, JobsDesk
from ebbtide_cli.settings import Settings
from ebbtide_core.names import checked_name
from ebbtide_core.permits import PermitSender
from ebbtide_core.store.results import DeadLetter


@contextmanager
def _desk(settings: Settings) -> Iterator[JobsDesk]:
    with errors_told(), opened_store(settings) as store:
        yield JobsDesk(store)


def list_jobs(settings: Settings, dead: bool, tenant: str | None, limit: int, as_json: bool) -> None:
    """Show jobs of the index, or dead letters."""
    with _desk(settings) as desk:
        if tenant is not None:
            checked_name(tenant, "tenant")
        if dead:
            letters = desk.dead(tenant)
            if as_json:
                print_json({"found": len(letters), "jobs": list(map(view.of_job, letters[:limit]))})
            else:
                view.show_letters(console(), letters[:limit], len(letters))
            return
        found = desk.listed(tenant, limit)
        if as_json:
            print_json(view.of_list(found, limit))
        else:
            view.show_jobs(console(), found, limit)


def show(settings: Settings, beginning: str, as_json: bool) -> None:
    """Show all that is known of a job, but for content."""
    with _desk(settings) as desk:
        found = desk.find(beginning)
        if as_json:
            print_json(view.of_job(found))
        else:
            view.show_job(console(), found)


def retry(settings: Settings, beginning: str, as_json: bool) -> None:
    """Give a dead letter another try, and send a permit for it."""
    with _desk(settings) as desk:
        job = desk.retry(desk.letter(beginning))
        fault = _permit_fault(settings)
        if fault:
            typer.echo(
                f"No permit could be sent ({fault}): check --broker. The job is queued all the same, and a "
                "worker's next tick sends one.",
                err=True,
            )
        if as_json:
            print_json({**view.of_named(job), "epoch": job.epoch, "queued": True, "permit": not fault})
        else:
            console().print(f"Queued again, as epoch {job.epoch} of {view.named(job)}.")


def _permit_fault(settings: Settings) -> str:
    """Send a permit; return the kind of error that prevented it, whose words may quote the URL, or ""."""
    _, broker = settings.urls
    try:
        sender = PermitSender(broker)
        try:
            sender.send()
        finally:
            sender.close()
    except Exception as error:  # noqa: BLE001  broker clients' errors have no common base
        return type(error).__name__
    return ""


def drop(settings: Settings, beginning: str, sure: bool, as_json: bool) -> None:
    """Take out a dead letter or a ready job, after asking."""
    with _desk(settings) as desk:
        found = desk.find(beginning)
        asked(_effect(found), "Drop it?", sure, as_json)
        desk.drop(found)
        if as_json:
            print_json({**view.of_named(found.job), "dropped": view.state_of(found)})
        else:
            console().print(f"Dropped {view.named(found.job)}.")


def _effect(found: Found) -> str:
    whom = whose(found.job.owner)
    if isinstance(found, DeadLetter):
        return f"The dead letter of {whom} is removed; nothing else changes."
    return f"The job of {whom} leaves the index, and its claim ends: its host may ask anew at the next turn."
