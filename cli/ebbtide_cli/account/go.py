"""What each subcommand of `ebbtide account` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ebbtide_cli.hand.look import show_list, table
from ebbtide_cli.hand.store import opened_store
from ebbtide_cli.hand.talk import NotThere, asked, console, errors_told, print_json
from ebbtide_cli.replay.view import safe, shown
from ebbtide_cli.settings import Settings
from ebbtide_core import names
from ebbtide_core.limiter import Standing
from ebbtide_core.store import account_calls
from ebbtide_core.store.client import SyncStore


def list_accounts(settings: Settings, as_json: bool) -> None:
    """Show the accounts of which something is known, blocked ones first."""
    with errors_told(), opened_store(settings) as store:
        found = _standings(store)
    if as_json:
        print_json({"accounts": [_document(name, standing) for name, standing in found.items()]})
        return
    rows = table("account", "block", "calls/s", "waiting", "failures")
    for name, standing in found.items():
        rows.add_row(
            safe(name), _block(standing), _rate(standing), f"{standing.waiting:,}", f"{standing.failures:,}"
        )
    show_list(console(), rows, len(found), "accounts that are limited, blocked or were asked lately")


def reset(settings: Settings, account: str | None, sure: bool, as_json: bool) -> None:
    """Forget what is known of an account (None: of all), after asking."""
    with errors_told(), opened_store(settings) as store:
        known = list(_standings(store))
        if account is not None and account not in known:
            raise NotThere(
                f"nothing is known of an account {shown(account)}: `ebbtide account list` shows all"
            )
        chosen = known if account is None else [account]
        what = f"{len(chosen):,} accounts are" if account is None else f"The account {shown(account)} is"
        if chosen:
            told = f"{what} asked again at once. Mend first what blocked it: workers pay for what fails."
            asked(told, "Reset it?", sure, as_json)
        done = [name for name in chosen if store.run(account_calls.reset(name))]
    if as_json:
        print_json({"reset": done})
    else:
        console().print(f"{len(done):,} of {len(chosen):,} accounts were reset.")


def _standings(store: SyncStore) -> Mapping[str, Standing]:
    """Return how each account stands, by name; blocked ones first."""
    keys = (key for batch in store.scan(names.accounts()) for key in batch)
    found = {name: store.run(account_calls.look(name)) for name in sorted({*map(names.account_of, keys)})}
    return dict(sorted(found.items(), key=lambda item: item[1].block is None))


def _block(standing: Standing) -> str:
    if standing.block is None:
        return "-"
    left = f"{standing.block_seconds:.0f} s" if standing.block_seconds else "one call probes it"
    return f"{standing.block.value}, {left}"


def _rate(standing: Standing) -> str:
    return "-" if standing.rate is None else f"{standing.rate:.2g}"


def _document(name: str, standing: Standing) -> dict[str, Any]:
    return {
        "account": name,
        "block": standing.block.value if standing.block else None,
        "block_seconds": round(standing.block_seconds, 3),
        "calls_a_second": standing.rate,
        "waiting": standing.waiting,
        "paused_seconds": round(standing.paused, 3),
        "failures": standing.failures,
    }
