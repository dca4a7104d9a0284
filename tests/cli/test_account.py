"""`ebbtide account …`: how the providers' accounts stand, and lifting their blocks."""

from __future__ import annotations

from functools import partial

import pytest

from ebbtide_core.limiter import Standing, Told
from ebbtide_core.store import account_calls
from ebbtide_core.store.client import SyncStore
from tests.cli.by_hand import Command, ebbtide, printed, refused
from tests.cli.test_session import store

__all__ = ["ebbtide", "store"]

BLOCKED, LIMITED = "anthropic-0123456789abcdef", "a:b/c"


@pytest.fixture
def account(ebbtide: Command) -> Command:
    """Runs a subcommand."""
    return partial(ebbtide, "account")


@pytest.fixture(autouse=True)
def accounts(store: SyncStore) -> None:
    """Two accounts: one whose key is refused, one that is limited and has an odd name."""
    store.run(account_calls.told(LIMITED, Told.LIMITED))
    store.run(account_calls.told(BLOCKED, Told.AUTH))


def test_accounts_are_listed_with_what_stands_in_their_way(account: Command) -> None:
    """Blocked ones first, with how long; the others' rate."""
    first, second = printed(account, "list", "--json")["accounts"]
    assert (first["account"], first["block"], second["account"], second["block"]) == (
        BLOCKED, "auth", LIMITED, None,
    )  # fmt: skip
    assert first["block_seconds"] > 30
    assert second["calls_a_second"] > 0
    told = account("list").output
    assert BLOCKED in told
    assert "auth" in told


def test_a_reset_account_is_asked_again_at_once(account: Command, store: SyncStore) -> None:
    """The other stays as it is."""
    assert printed(account, "reset", BLOCKED, "--yes", "--json") == {"reset": [BLOCKED]}
    assert store.run(account_calls.look(BLOCKED)) == Standing()
    assert store.run(account_calls.look(LIMITED)).rate is not None


def test_all_are_reset_only_after_asking(account: Command, store: SyncStore) -> None:
    """No is no."""
    assert account("reset", "--all", said="n\n").exit_code == 1
    assert store.run(account_calls.look(BLOCKED)).block is not None
    assert account("reset", "--all", said="y\n").exit_code == 0
    assert printed(account, "list", "--json") == {"accounts": []}


def test_an_unknown_account_is_told(account: Command) -> None:
    """With exit code 1, and where to look."""
    assert "account list" in refused(account, "reset", "other", "--yes")
    assert account("reset").exit_code == 2
