"""`ebbtide tenant …`: what is written when, what is shown, and that it holds at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.tenant.desk import TenantDesk
from ebbtide_cli.tenant.plan import Change
from ebbtide_core import names
from ebbtide_core.contract.tenant import BlockReason, Refusal, TenantPolicy
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.store import fleet_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.fleet_calls import Paid
from ebbtide_core.store.script import Call
from tests.cli.by_hand import Command, ebbtide, printed, refused
from tests.cli.test_session import store
from tests.store.clock import Database
from tests.store.fleet import TTL, job

__all__ = ["ebbtide", "store"]

EVIL = "\\u202e[bold]x[/bold]"
FILE = """
    [routes.fast]
    summariser = "anthropic"
    model = "claude-haiku-5-5"
    credentials = "env:ANTHROPIC_API_KEY"
    [default]
    max_pending = 1
    [tenants.acme]
    weight = 2
    route = ["fast"]
    spend_a_day = 20.0
    [tenants.umbrella]
    mode = "off"
"""


@pytest.fixture
def tenant(ebbtide: Command) -> Command:
    """Runs a subcommand."""
    return partial(ebbtide, "tenant")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of tenants."""
    path = tmp_path / "tenants.toml"
    path.write_text(FILE)
    return path


def kinds(command: Command, *arguments: str) -> dict[str | None, str]:
    """What becomes of each policy that the command tells of."""
    told = printed(command, "apply", *arguments, "--json")
    return {each["tenant"]: each["change"] for each in told["changes"]}


def refusal(store: SyncStore, tenant: str, session: str) -> Refusal | None:
    """Enqueue a job, and return why it was refused."""
    return store.run(fleet_calls.enqueue(job(session, tenant), ttl=TTL)).reason


def test_what_is_applied_holds_at_once(tenant: Command, store: SyncStore, path: Path) -> None:
    """Policies for hosts and workers, and limits for the next job; each tells what it is new."""
    assert kinds(tenant, str(path)) == {None: "added", "acme": "added", "umbrella": "added"}
    acme = store.run(tenant_calls.standing("acme")).policy
    assert acme is not None
    assert (acme.weight, acme.max_pending, acme.route[0].model) == (2, 1, "claude-haiku-5-5")
    assert store.run(tenant_calls.default_get()) == TenantPolicy(max_pending=1)
    assert refusal(store, "umbrella", "a") is Refusal.OFF
    for name in ("acme", "of no policy"):
        assert [refusal(store, name, session) for session in "ab"] == [None, Refusal.MAX_PENDING]


def test_applying_again_changes_nothing(
    tenant: Command, store: SyncStore, database: Database, path: Path
) -> None:
    """Not a byte in the store, and it says so."""
    assert "Applied" in tenant("apply", str(path)).stdout
    before = everything(database)
    assert kinds(tenant, str(path)) == {None: "same", "acme": "same", "umbrella": "same"}
    assert "Nothing changes." in tenant("apply", str(path), "--prune").stdout
    assert everything(database) == before


def everything(database: Database) -> dict[bytes, bytes]:
    """All that the store holds."""
    return {key: database.dump(key) for key in database.scan_iter()}


def test_a_dry_run_writes_nothing(tenant: Command, database: Database, path: Path) -> None:
    """It tells what would change, and what is pruned without asking."""
    assert "Nothing was written" in tenant("apply", str(path), "--dry-run").stdout
    assert everything(database) == {}
    tenant("apply", str(path))
    path.write_text("[tenants.new]\nweight = 3\n")
    before = everything(database)
    assert kinds(tenant, str(path), "--dry-run", "--prune") == {
        None: "removed",
        "acme": "removed",
        "new": "added",
        "umbrella": "removed",
    }
    assert everything(database) == before


def test_a_change_is_told_field_by_field(tenant: Command, path: Path) -> None:
    """As it was and as it is; a route by its models."""
    tenant("apply", str(path))
    path.write_text(FILE.replace("weight = 2", "weight = 5").replace('route = ["fast"]', "route = []"))
    told = printed(tenant, "apply", str(path), "--dry-run", "--json")["changes"][1]
    assert (told["tenant"], told["change"]) == ("acme", "changed")
    assert told["fields"]["weight"] == {"before": 2, "after": 5}
    text = tenant("apply", str(path)).stdout
    assert "weight 2 → 5" in text
    assert "anthropic claude-haiku-5-5 → the worker's own" in " ".join(text.split())


def test_pruning_removes_what_is_not_declared(tenant: Command, store: SyncStore, path: Path) -> None:
    """Policies and limits, the default's too; without it they stay."""
    tenant("apply", str(path))
    path.write_text("[tenants.acme]\nweight = 2\n")
    assert kinds(tenant, str(path)) == {"acme": "changed"}
    assert refusal(store, "umbrella", "a") is Refusal.OFF
    assert kinds(tenant, str(path), "--prune", "--yes") == {
        None: "removed",
        "acme": "same",
        "umbrella": "removed",
    }
    assert store.run(fleet_calls.tenants()) == ("acme",)
    assert store.run(tenant_calls.default_get()) is None
    assert [refusal(store, name, s) for name in ("umbrella", "other") for s in "ab"] == [None] * 4


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_pruning_is_asked_about(tenant: Command, store: SyncStore, path: Path, said: str, code: int) -> None:
    """What goes is named before; with a no nothing at all is written."""
    tenant("apply", str(path))
    path.write_text("[tenants.new]\nweight = 2\n")
    done = tenant("apply", str(path), "--prune", said=said)
    assert done.exit_code == code
    assert "removed: (default), acme, umbrella." in done.stdout
    left = ("acme", "umbrella") if code else ("new",)
    assert store.run(fleet_calls.tenants()) == left


def test_a_file_with_anything_wrong_writes_nothing(tenant: Command, database: Database, path: Path) -> None:
    """All of it is told on stderr, line by line, and no secret."""
    path.write_text(FILE.replace("weight = 2", "weight = 0").replace("env:ANTHROPIC_API_KEY", "sk-hidden"))
    done = tenant("apply", str(path), "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "\n  tenants.acme.weight: " in done.stderr
    assert "\n  routes.fast.credentials: " in done.stderr
    assert "hidden" not in done.stderr
    assert everything(database) == {}


def test_a_file_that_is_not_there_is_told(tenant: Command, tmp_path: Path) -> None:
    """As wrong usage."""
    assert tenant("apply", str(tmp_path / "none.toml")).exit_code == 2


class Breaking(SyncStore):
    """A store that is gone after so many writes."""

    left = 0

    def run(self, call: Call[object]) -> object:  # type: ignore[override]
        """Run a call while some are left."""
        if self.left == 0:
            raise StoreUnavailable("gone")
        self.left -= 1
        return super().run(call)


def test_one_that_was_cut_short_is_finished_by_the_next(
    store: SyncStore, tenant: Command, path: Path, server: EmbeddedServer
) -> None:
    """A policy that was written without its limits gets them, though it is the same."""
    breaking = Breaking(server.url)
    breaking.left = 1
    with pytest.raises(StoreUnavailable):
        TenantDesk(breaking).apply([Change("umbrella", None, TenantPolicy(max_pending=1))])
    breaking.close()
    assert store.run(fleet_calls.tenants()) == ()
    path.write_text("[tenants.umbrella]\nmax_pending = 1\n")
    assert kinds(tenant, str(path)) == {"umbrella": "same"}
    assert [refusal(store, "umbrella", session) for session in "ab"] == [None, Refusal.MAX_PENDING]


@pytest.mark.parametrize("damage", [b"damaged", b'{"major": 99}'])
def test_applying_mends_a_policy_that_can_not_be_read(
    tenant: Command, store: SyncStore, database: Database, path: Path, damage: bytes
) -> None:
    """It counts as none."""
    tenant("apply", str(path))
    for key in (names.tenant_policy("acme"), names.fleet("default")):
        database.set(key, damage)
    assert kinds(tenant, str(path)) == {None: "added", "acme": "added", "umbrella": "same"}
    assert store.run(tenant_calls.default_get()) == TenantPolicy(max_pending=1)


def spend(store: SyncStore, tenant: str) -> None:
    """Have a tenant pay for one attempt, with another job that waits."""
    first, second = job("a", tenant), job("b", tenant)
    for each in (first, second):
        store.run(fleet_calls.enqueue(each, ttl=TTL))
    taken = store.run(fleet_calls.take("w", lease=30, max_queue_age=120, ttl=TTL)).job
    assert taken is not None
    store.run(fleet_calls.renew(taken, 30, Paid(1_500, 0.25)))


def test_a_tenant_is_shown_with_what_it_has_and_does(tenant: Command, store: SyncStore, path: Path) -> None:
    """Its policy, today's spending, its jobs, its block; in the list too."""
    path.write_text(FILE.replace("max_pending = 1", "concurrency = 4"))
    tenant("apply", str(path))
    spend(store, "acme")
    store.run(tenant_calls.block_put("acme", BlockReason.SPEND_LIMIT, 90))
    told = printed(tenant, "show", "acme", "--json")
    assert (told["declared"], told["policy"]["weight"]) == (True, 2)
    assert told["today"] == {"tokens": 1_500, "dollars": 0.25}
    assert told["jobs"] == {"ready": 1, "running": 1}
    assert told["block"] == "spend_limit"
    assert 80 < told["block_seconds"] <= 90
    text = tenant("show", "acme").stdout
    for words in (
        "running     1 of 4",
        "0.2500 of 20.0000 dollars",
        "spend_limit, for 9",
        "anthropic claude",
    ):
        assert words in text
    line = printed(tenant, "list", "--json")["tenants"][0]
    assert {**line, "block_seconds": 0} == {**told, "block_seconds": 0}
    text = tenant("list").stdout
    assert "0.25 of 20.00" in text
    assert "All others: concurrency 4." in text


def test_a_tenant_without_a_policy_of_its_own_is_shown_too(tenant: Command, path: Path) -> None:
    """With what holds for it: the default, or no limits."""
    told = printed(tenant, "show", "anybody", "--json")
    assert (told["declared"], told["policy"]["max_pending"]) == (False, None)
    tenant("apply", str(path))
    assert printed(tenant, "show", "anybody", "--json")["policy"]["max_pending"] == 1
    assert "that of all tenants without one of their own" in tenant("show", "anybody").stdout


def test_a_block_is_lifted(tenant: Command, store: SyncStore) -> None:
    """Or there was none, which is no error."""
    store.run(tenant_calls.block_put("acme", BlockReason.AUTH, 90))
    assert "lifted" in tenant("unblock", "acme").stdout
    assert store.run(tenant_calls.standing("acme")).block is None
    assert printed(tenant, "unblock", "acme", "--json") == {"tenant": "acme", "unblocked": False}


def test_without_policies_the_list_says_so(tenant: Command) -> None:
    """And what holds for all."""
    text = tenant("list").stdout
    assert "No tenants with a policy of their own." in text
    assert "All others: no limits." in text
    assert printed(tenant, "list", "--json") == {"found": 0, "default": None, "tenants": []}


def test_a_long_list_is_cut(tenant: Command, path: Path) -> None:
    """And says that it is."""
    tenant("apply", str(path))
    assert "1 of 2 tenants" in tenant("list", "--limit", "1").stdout


def test_nothing_in_a_name_is_obeyed(tenant: Command, path: Path) -> None:
    """Neither by the terminal nor as markup."""
    path.write_text(f'[tenants."{EVIL}"]\nroute = ["{EVIL}"]\n[routes."{EVIL}"]\nmodel = "{EVIL}"\n')
    name = EVIL.encode().decode("unicode_escape")
    texts = [
        tenant("apply", str(path)).stdout,
        tenant("list").stdout,
        tenant("show", name).stdout,
        tenant("apply", str(path), "--prune", "--dry-run").stdout,
    ]
    for text in texts:
        assert all(c.isprintable() or c == "\n" for c in text)
        assert "[bold]x[/bold]" in text
    path.write_text("")
    assert "\u202e" not in tenant("apply", str(path), "--prune").stdout


def test_names_outside_the_limits_are_told(tenant: Command) -> None:
    """Before the store is asked."""
    for name in ("show", "unblock"):
        assert "1 to 256" in refused(tenant, name, "a" * 300)
