"""`ebbtide breaker …`: which sessions fail, why, and letting them try again."""

from __future__ import annotations

from functools import partial

import pytest

from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.names import Owner
from ebbtide_core.store import tally_calls
from ebbtide_core.store.client import SyncStore
from tests.cli.by_hand import Command, ebbtide, printed, refused
from tests.cli.test_session import store
from tests.store.session import COOLDOWN, FAILURES, TTL, Driver

__all__ = ["ebbtide", "store"]

THIS = ("chat", "--tenant", "acme")
EVIL = "\u202e[bold]x[/bold]"


@pytest.fixture
def breaker(ebbtide: Command) -> Command:
    """Runs a subcommand."""
    return partial(ebbtide, "breaker")


def opened(store: SyncStore, tenant: str = "acme", session: str = "chat") -> Driver:
    """A session whose breaker has opened, with what the failures were in its tally."""
    driver = Driver(store, Owner(tenant, session))
    driver.turn()
    driver.fail(FAILURES)
    for event in ("enqueued", "failure:timeout", "failure:refused", "failure:refused", "neutral:cancelled"):
        store.run(tally_calls.tally_add(driver.owner, event, ttl=TTL))
    return driver


def closed(store: SyncStore, session: str) -> Driver:
    """A session that has failed once."""
    driver = Driver(store, Owner("acme", session))
    driver.turn()
    driver.fail(1)
    return driver


def names(told: dict[str, list[dict[str, str]]], key: str = "sessions") -> list[tuple[str, str]]:
    """Which sessions a document tells of."""
    return sorted((each["tenant"], each["session"]) for each in told[key])


def test_only_breakers_that_are_not_closed_are_listed(breaker: Command, store: SyncStore) -> None:
    """Open and half-open ones, of one tenant or of all; with --all the rest too."""
    opened(store).turns(2)
    opened(store, "acme", "half").turns(COOLDOWN)
    opened(store, "umbrella", "x")
    closed(store, "fine")
    told = printed(breaker, "list", "--json")
    assert names(told) == [("acme", "chat"), ("acme", "half"), ("umbrella", "x")]
    by_name = {each["session"]: each for each in told["sessions"]}
    assert (by_name["chat"]["breaker"], by_name["half"]["breaker"]) == ("open", "half")
    assert (by_name["chat"]["failures_in_a_row"], by_name["chat"]["turns_open"]) == (FAILURES, 2)
    assert by_name["chat"]["failures"] == {"refused": 2, "timeout": 1}
    assert 0 <= by_name["chat"]["seconds_open"] < 60
    assert by_name["half"]["seconds_open"] is None
    assert names(printed(breaker, "list", "--tenant", "acme", "--json")) == [
        ("acme", "chat"),
        ("acme", "half"),
    ]
    assert len(names(printed(breaker, "list", "--all", "--json"))) == 4


def test_the_list_is_shown_to_people(breaker: Command, store: SyncStore) -> None:
    """With what the failures were; and how many were left out."""
    assert "No sessions whose breaker is not closed." in breaker("list").stdout
    opened(store)
    opened(store, "umbrella", "x")
    text = breaker("list").stdout
    assert "refused 2, timeout 1" in text
    assert "1 of 2 sessions" in breaker("list", "--limit", "1").stdout


def test_one_is_shown(breaker: Command, store: SyncStore) -> None:
    """How long it is open, and what became of the session's jobs."""
    opened(store).turns(2)
    text = breaker("show", *THIS).stdout
    assert f"open, {FAILURES} failures in a row, 2 counted turns and" in text
    assert "enqueued 1, failure:refused 2" in text
    told = printed(breaker, "show", *THIS, "--json")
    assert (told["turns_open"], told["jobs"]["neutral:cancelled"]) == (2, 1)


def test_one_without_a_past_is_shown(breaker: Command, store: SyncStore) -> None:
    """A closed breaker, and no jobs."""
    Driver(store, Owner("acme", "chat")).turn()
    assert "closed, 0 failures in a row\n" in breaker("show", *THIS).stdout


def test_one_is_reset(breaker: Command, store: SyncStore) -> None:
    """Its next claim is given; others stay."""
    driver, other = opened(store), opened(store, "acme", "other")
    told = printed(breaker, "reset", *THIS, "--yes", "--json")
    assert names(told, "reset") == [("acme", "chat")]
    assert (driver.look().view.breaker, driver.look().failures) == (BreakerState.CLOSED, 0)
    assert other.look().view.breaker is BreakerState.OPEN


def test_all_of_a_tenant_are_reset(breaker: Command, store: SyncStore) -> None:
    """Those that are not closed; failures of a closed one still count, and other tenants stay."""
    drivers = [opened(store), opened(store, "acme", "half")]
    drivers[1].turns(COOLDOWN)
    fine, other = closed(store, "fine"), opened(store, "umbrella", "x")
    assert "2 breakers are closed." in breaker("reset", "--tenant", "acme", "--all", "--yes").stdout
    assert {driver.look().view.breaker for driver in drivers} == {BreakerState.CLOSED}
    assert (fine.look().failures, other.look().view.breaker) == (1, BreakerState.OPEN)
    assert printed(breaker, "reset", "--tenant", "acme", "--all", "--json") == {"reset": []}


@pytest.mark.parametrize("which", [("chat",), ("--all",)])
@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 1)])
def test_resetting_is_asked_about(
    breaker: Command, store: SyncStore, which: tuple[str], said: str, code: int
) -> None:
    """What it costs is told before; only a yes closes anything."""
    driver = opened(store)
    done = breaker("reset", *which, "--tenant", "acme", said=said)
    assert done.exit_code == code
    assert "mend first what made them fail" in " ".join(done.stdout.split())
    assert (driver.look().view.breaker is BreakerState.OPEN) == bool(code)


def test_a_reset_of_nothing_in_particular_is_wrong_usage(breaker: Command) -> None:
    """Neither a session nor --all, or both."""
    for arguments in ((), ("chat", "--all")):
        done = breaker("reset", *arguments, "--tenant", "acme", "--yes")
        assert done.exit_code == 2
        assert "--all" in done.stderr


@pytest.mark.parametrize("name", ["show", "reset"])
def test_a_session_that_is_not_there_is_told(breaker: Command, name: str) -> None:
    """With where to look."""
    assert "ebbtide session list" in refused(breaker, name, *THIS, *(("--yes",) if name == "reset" else ()))


def test_nothing_in_a_name_is_obeyed(breaker: Command, store: SyncStore) -> None:
    """Nor in what a worker called a failure."""
    driver = opened(store, EVIL, EVIL)
    store.run(tally_calls.tally_add(driver.owner, f"{Outcome.FAILURE.value}:{EVIL}", ttl=TTL))
    texts = [
        breaker("list").stdout,
        breaker("show", EVIL, "--tenant", EVIL).stdout,
        breaker("reset", EVIL, "--tenant", EVIL, said="n\n").stdout,
        breaker("reset", "--all", "--tenant", EVIL, said="n\n").stdout,
    ]
    for text in texts:
        assert all(c.isprintable() or c == "\n" for c in text)
        assert "[bold]x[/bold]" in text
