"""What `ebbtide session` finds and shows, on sessions that hosts and workers have made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.hand.look import ago
from ebbtide_cli.hand.talk import NotThere
from ebbtide_cli.session import document, screen
from ebbtide_cli.session.desk import Desk, Seen, opened
from ebbtide_cli.session.difference import PROSE_FIELDS, difference
from ebbtide_cli.settings import Settings
from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import Reviewed
from ebbtide_core.summary.model import LIST_FIELDS, Summary
from tests.host.publisher import work_once
from tests.host.talk import chat
from tests.store.clock import Database

ACME = Owner("acme", "chat")
EVIL = "\x1b[31mred\x07 [bold]x[/bold] \u202eflip\r\n"
SECRET_WORDS = ("billing", "Postgres")


@pytest.fixture
def store(server: EmbeddedServer, database: Database) -> Iterator[SyncStore]:
    """The store at the server's own time, empty."""
    store = SyncStore(server.url, timeout=5.0)
    yield store
    store.close()


@pytest.fixture
def desk(server: EmbeddedServer, store: SyncStore) -> Iterator[Desk]:
    """A desk at the store."""
    with opened(Settings.read(state=server.url)) as desk:
        yield desk


def lived(server: EmbeddedServer, store: SyncStore, owner: Owner = ACME) -> None:
    """Give a session two versions, one turn after the other, and one degraded turn."""
    policy = Policy(wait_budget=0.0, io_budget=10.0, keep_recent_tokens=300, min_turns_between_swaps=0)
    with Pool(server.url, policy=policy) as pool:
        session = pool.session(
            tenant=owner.tenant, session_id=owner.session_id, model="gpt-test", context_window=4_000
        )
        assert session.prepare(chat(40)).report.degraded
        assert pool.flush()
        assert work_once(store)
        turn = session.prepare(chat(40))
        assert turn.swap is not None
        session.prepare([*turn.buffer, *chat(52)[80:]])
        assert pool.flush()
        assert work_once(store)


def shown_by(show: Any, *args: Any) -> str:
    """Return what a function shows on a wide console."""
    out = StringIO()
    show(Console(file=out, width=200, highlight=False), *args)
    return out.getvalue()


def test_sessions_are_listed_latest_first(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """All of them, or those of one tenant, at most so many; and how many there are."""
    for owner in (ACME, Owner("acme", "other"), Owner("umbrella", "x")):
        lived(server, store, owner)
    seen, count = desk.sessions(None, 10)
    assert count == 3
    assert [each.owner.session_id for each in seen] == ["x", "other", "chat"]
    only, count = desk.sessions("acme", 1)
    assert ([each.owner for each in only], count) == ([Owner("acme", "other")], 2)
    line = document.of_session(only[0])
    assert (line["newest"], line["kept"], line["breaker"], line["claim"]) == (2, 2, "closed", None)
    assert "1 of 2 sessions" in shown_by(screen.show_sessions, only, 2)


def test_sessions_with_degraded_turns_are_listed_newest_first(
    desk: Desk, server: EmbeddedServer, store: SyncStore
) -> None:
    """With how many there were, and the last one's figures; others are not in the list."""
    lived(server, store)
    late = Owner("acme", "late")
    entry = ReviewEntry(
        turn=7,
        action="degrade",
        reason="breaker_open",
        rung="clipped",
        projected=5_000,
        sent=3_900,
        window=4_000,
        omitted=3,
        model="m",
    )
    for _ in range(2):
        store.run(session_calls.review_add(late, entry.to_json(), kept=100, ttl=60))
    found, count = desk.degraded(None, 10)
    assert [(each.owner, len(each.turns)) for each in found] == [(late, 2), (ACME, 1)]
    assert count == 2
    last = document.of_degraded(found[0])["last"]
    assert (last["rung"], last["reason"], last["turn"], last["omitted"]) == ("clipped", "breaker_open", 7, 3)
    told = document.of_degraded(found[1])["last"]
    assert (told["rung"], told["reason"], told["window"]) == ("extractive", "no_record_in_time", 4_000)
    text = shown_by(screen.show_degraded, found, count)
    assert text.index("late") < text.index("chat")
    assert desk.degraded("umbrella", 10) == ([], 0)


def test_a_session_is_shown_without_content(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """State, claim, breaker, the newest version's figures, jobs and degraded turns; as JSON all versions."""
    lived(server, store)
    seen = Seen(ACME, desk.state(ACME))
    versions = desk.versions(ACME, seen.state.view.headers)
    told = document.of_show(seen, versions, desk.tally(ACME), desk.review(ACME))
    assert [each["version"] for each in told["versions"]] == [1, 2]
    assert told["jobs"] == {"enqueued": 2}
    assert (told["turns"], len(told["degraded_turns"])) == (3, 1)
    text = shown_by(
        screen.show_session, seen, versions[-1:], desk.tally(ACME), desk.review(ACME)
    ) + json.dumps(told)
    assert "v2" in text
    assert "1 degraded turns" in text
    assert not any(word in text for word in SECRET_WORDS)


def test_a_claim_is_shown_with_its_stage(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """While a job waits or runs."""
    with Pool(server.url, policy=Policy(wait_budget=0.0, io_budget=10.0)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        session.prepare(chat(27))
        assert pool.flush()
    seen = Seen(ACME, desk.state(ACME))
    assert document.of_state(seen)["claim"]["stage"] == "queued"
    assert "queued, hi, epoch 1" in shown_by(screen.show_session, seen, [], {}, ())


def test_a_version_that_can_not_be_read_is_told(
    desk: Desk, server: EmbeddedServer, store: SyncStore, database: Database
) -> None:
    """Its header is there all the same, with why there is no more."""
    lived(server, store)
    database.delete(ACME.record(1))
    store.run(blob_calls.put({ACME.record(2): b"damaged"}, ttl=60))
    versions = desk.versions(ACME, desk.state(ACME).view.headers)
    assert [version.record for version in versions] == [None, None]
    assert "gone" in versions[0].problem
    assert "can't be read" in document.of_version(versions[1])["problem"]
    assert "version 2" in shown_by(screen.show_versions, versions)
    with pytest.raises(NotThere, match="version 1: its record is gone"):
        desk.record(ACME, 1)


def test_what_is_not_there_is_told_with_what_is(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """No such session, no such version."""
    with pytest.raises(NotThere, match="no session 'chat' of tenant 'acme'"):
        desk.state(ACME)
    lived(server, store)
    with pytest.raises(NotThere, match="kept are: 1, 2"):
        desk.version(ACME, 9)
    with pytest.raises(NotThere, match="not kept"):
        desk.withdraw(ACME, 9)


def test_a_withdrawn_version_is_marked(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """In the state, and wherever versions are shown."""
    lived(server, store)
    desk.withdraw(ACME, 1)
    versions = desk.versions(ACME, desk.state(ACME).view.headers)
    assert [document.of_version(version)["withdrawn"] for version in versions] == [True, False]
    assert "withdrawn" in shown_by(screen.show_versions, versions)


def test_what_is_removed_is_told_by_kind(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """And what a second look found."""
    lived(server, store)
    gone = desk.forget(ACME)
    told = document.of_forgotten(ACME, gone)
    assert told["left"] == {"keys": 0, "memos": 0, "mentions": 0}
    assert (told["removed"]["keys"]["rec"], told["removed"]["keys"]["state"]) == (2, 1)
    text = shown_by(screen.show_forgotten, ACME, gone)
    assert "2  records" in text
    assert "0 keys, 0 memos, 0 entries" in text
    assert "Nothing was there" in shown_by(screen.show_forgotten, ACME, desk.forget(ACME))


ITEMS = st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, max_size=4).map(tuple)
SUMMARIES = st.builds(
    Summary,
    session_intent=st.sampled_from(["", "one", "two\nlines"]),
    decisions=ITEMS,
    identifiers=ITEMS,
    next_steps=ITEMS,
)


@given(SUMMARIES, SUMMARIES)
def test_a_difference_is_all_that_leads_from_one_to_the_other(earlier: Summary, later: Summary) -> None:
    """Taking away what was lost and adding what was gained makes the later summary, whatever the order."""
    found = difference(earlier, later)
    lists = {each.field: each for each in found.lists}
    texts = {each.field: each for each in found.texts}
    for field in LIST_FIELDS:
        change = lists.get(field)
        lost, gained = (set(change.lost), set(change.gained)) if change else (set(), set())
        assert (set(getattr(earlier, field)) - lost) | gained == set(getattr(later, field))
    for field in PROSE_FIELDS:
        expected = texts[field].after if field in texts else str(getattr(earlier, field))
        assert expected == str(getattr(later, field))
    assert difference(earlier, earlier).nothing
    back = difference(later, earlier)
    assert {c.field: (c.lost, c.gained) for c in back.lists} == {
        c.field: (c.gained, c.lost) for c in found.lists
    }


def test_every_field_of_a_summary_is_compared() -> None:
    """None is forgotten."""
    assert {*PROSE_FIELDS, *LIST_FIELDS} == set(Summary.model_fields)


def test_prose_is_shown_as_a_unified_diff() -> None:
    """Line by line, with signs."""
    found = difference(Summary(active_request="one\ntwo"), Summary(active_request="one\nthree"))
    assert found.texts[0].lines() == ["@@ -1,2 +1,2 @@", " one", "-two", "+three"]


def obeys_nothing(text: str) -> None:
    """Assert that a terminal is told nothing but printable text and line ends, markup included."""
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "[bold]x[/bold]" in text


def test_nothing_from_outside_is_obeyed(desk: Desk, server: EmbeddedServer, store: SyncStore) -> None:
    """Control characters and markup in names, reasons and summaries are shown as text, in JSON escaped."""
    lived(server, store)
    name = EVIL.replace("\x1b", "").replace("\x07", "").replace("\r\n", "")
    owner = Owner.of(name, name)
    seen = Seen(owner, desk.state(ACME))
    entry = ReviewEntry(
        turn=1, action=EVIL, reason=EVIL, rung=EVIL, projected=1, sent=1, window=1, omitted=1, model=EVIL
    )
    found = difference(
        Summary(active_request=EVIL, decisions=(EVIL,)), Summary(active_request="", errors=(EVIL,))
    )
    for text in (
        shown_by(screen.show_sessions, [seen], 1),
        shown_by(screen.show_session, seen, [], {EVIL: 1}, [Reviewed(0.0, entry)]),
        shown_by(screen.show_difference, 1, 2, found),
        shown_by(screen.show_forgotten, owner, desk.forget(owner)),
    ):
        obeys_nothing(text)
    told = json.dumps(document.of_difference(owner, 1, 2, found), indent=2)
    assert all(c.isprintable() or c == "\n" for c in told)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "now"), (59, "59 s"), (61, "1 min"), (7_300, "2 h"), (900_000, "10 d")]
)
def test_durations_are_told_in_their_largest_unit(seconds: float, told: str) -> None:
    """Rounded down."""
    assert ago(seconds) == told
