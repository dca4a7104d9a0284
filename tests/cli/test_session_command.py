"""`ebbtide session …` as a command: what is printed where, what is asked, and its exit codes."""

from __future__ import annotations

from functools import partial

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.names import Owner
from ebbtide_core.store.client import SyncStore
from tests.cli.by_hand import Command, ebbtide, printed, refused
from tests.cli.command import run
from tests.cli.test_session import ACME, lived, store
from tests.store.clock import Database

__all__ = ["ebbtide", "store"]

THIS = ("chat", "--tenant", "acme")


@pytest.fixture
def command(ebbtide: Command) -> Command:
    """Runs a subcommand."""
    return partial(ebbtide, "session")


def test_a_session_from_the_list_to_its_end(
    command: Command, server: EmbeddedServer, store: SyncStore
) -> None:
    """Found, shown, compared, a version withdrawn, then forgotten: each step as JSON."""
    lived(server, store)
    assert printed(command, "list", "--degraded", "--json")["sessions"][0]["session"] == "chat"
    assert printed(command, "show", *THIS, "--json")["newest"] == 2
    assert printed(command, "diff", "chat", "1", "2", "--tenant", "acme", "--json")["changed"]
    assert printed(command, "withdraw", "chat", "1", "--tenant", "acme", "--yes", "--json")["withdrawn"] == 1
    kept = printed(command, "history", *THIS, "--json")["versions"]
    assert [each["withdrawn"] for each in kept] == [True, False]
    gone = printed(command, "forget", *THIS, "--yes", "--json")
    assert gone["removed"]["keys"]["rec"] == 2
    assert gone["left"] == {"keys": 0, "memos": 0, "mentions": 0}
    assert printed(command, "list", "--json") == {"found": 0, "sessions": []}


def test_each_step_is_shown_to_people_too(command: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """As text, with nothing on stderr."""
    lived(server, store)
    for arguments, told in (
        (("list",), "v2"),
        (("list", "--degraded"), "no_record_in_time"),
        (("show", *THIS), "breaker     closed"),
        (("history", *THIS), "v1"),
        (("diff", "chat", "1", "2", "--tenant", "acme"), "version 1 → version 2"),
        (("withdraw", "chat", "1", "--tenant", "acme", "--yes"), "Version 1 is withdrawn."),
        (("forget", *THIS, "--yes"), "Left after a second look: 0 keys"),
        (("list",), "No sessions."),
    ):
        done = command(*arguments)
        assert (done.exit_code, done.stderr) == (0, ""), arguments
        assert told in done.stdout


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_forgetting_is_asked_about(
    command: Command, server: EmbeddedServer, store: SyncStore, database: Database, said: str, code: int
) -> None:
    """The effect is told before; only a yes removes anything."""
    lived(server, store)
    done = command("forget", *THIS, said=said)
    assert done.exit_code == code
    assert "pays for again" in done.stdout
    assert bool(list(database.scan_iter(match=ACME.pattern))) == bool(code)


def test_withdrawing_is_asked_about(command: Command, server: EmbeddedServer, store: SyncStore) -> None:
    """What it does is told before; with JSON on stderr."""
    lived(server, store)
    done = command("withdraw", "chat", "1", "--tenant", "acme", "--json", said="n\n")
    assert done.exit_code == 1
    assert "no longer" not in done.stdout
    assert "no longer put version 1 of acme / chat" in done.stderr
    assert not printed(command, "history", *THIS, "--json")["versions"][0]["withdrawn"]


def test_what_is_not_there_is_told_on_stderr(command: Command) -> None:
    """Exit code 1, and where to look; stdout stays empty for whoever reads JSON."""
    assert "ebbtide session list" in refused(command, "show", *THIS, "--json")


def test_a_store_that_is_away_is_told(command: Command) -> None:
    """What to check, without the password."""
    done = command("list", "--state", "redis://:hidden-word@127.0.0.1:1/0")
    assert done.exit_code == 1
    assert "Check the state URL" in done.stderr
    assert "hidden-word" not in done.output


def test_a_name_outside_the_limits_is_told(command: Command) -> None:
    """Before the store is asked."""
    done = command("show", "chat", "--tenant", "a" * 300)
    assert done.exit_code == 1
    assert "1 to 256" in done.stderr


@pytest.mark.parametrize("word", ["off", "shadow", "on"])
def test_a_mode_is_set_and_taken_back(
    command: Command, server: EmbeddedServer, store: SyncStore, word: str
) -> None:
    """The list and the session tell it, and hosts are told at their next turn."""
    lived(server, store)
    assert printed(command, "mode", "chat", word, "--tenant", "acme", "--json")["mode"] == word
    assert printed(command, "show", *THIS, "--json")["mode"] == word
    assert printed(command, "list", "--json")["sessions"][0]["mode"] == word
    assert f"mode        {word}\n" in command("show", *THIS).stdout
    assert "as they" in " ".join(command("mode", "chat", "default", "--tenant", "acme").stdout.split())
    assert printed(command, "show", *THIS, "--json")["mode"] is None


def test_a_mode_that_there_is_not_is_told(command: Command) -> None:
    """With those that there are; and so is a session that there is not."""
    done = command("mode", "chat", "paused", "--tenant", "acme")
    assert done.exit_code == 2
    assert "shadow" in done.stderr
    assert "ebbtide session list" in refused(command, "mode", "chat", "off", "--tenant", "acme")


def test_names_of_any_kind_can_be_given(
    command: Command, server: EmbeddedServer, store: SyncStore, database: Database
) -> None:
    """Such as one that looks like a pattern or a flag."""
    owner = Owner("a*[b]", "--json")
    lived(server, store, owner)
    lived(server, store, ACME)
    flags = ("--tenant", owner.tenant, "--yes", "--json")
    gone = printed(command, "forget", *flags, "--", owner.session_id)
    assert gone["left"]["keys"] == 0
    assert not list(database.scan_iter(match=owner.pattern))
    assert list(database.scan_iter(match=ACME.pattern))


def test_a_codec_that_is_none_is_told(command: Command) -> None:
    """With the flag, before anything is read."""
    done = command("show", *THIS, "--codec", "no.such:thing")
    assert done.exit_code == 2
    assert "EBBTIDE_CODEC" in done.stderr


def test_the_installed_command_knows_it(server: EmbeddedServer, database: Database) -> None:
    """In a process of its own."""
    done = run("session", "list", "--state", server.url)
    assert (done.returncode, done.stdout.strip()) == (0, "No sessions.")
