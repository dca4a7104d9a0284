"""Law 7: no late, duplicate or superseded worker can change or reorder what was published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide_core.contract.job import After
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.forget import forget
from ebbtide_core.store.results import PublishStatus, SessionView
from tests.laws.depth import EXAMPLES

KEPT, TTL = 3, 600.0


@dataclass
class Watch:
    """What was seen published so far; complains when any of it is contradicted."""

    seen: dict[tuple[str, int], tuple[str, bytes]] = field(default_factory=dict)
    newest: tuple[str, int] = ("", 0)

    def look(self, view: SessionView, bodies: dict[int, bytes | None]) -> None:
        """Compare the state with all that was seen."""
        for header in view.headers:
            name = (view.incarnation, header.version)
            data = bodies[header.version]
            assert data is not None, f"version {header.version} has a header and no body"
            assert self.seen.setdefault(name, (header.body, data)) == (header.body, data), "a version changed"
        life, number = self.newest
        if life == view.incarnation:
            assert view.newest.number >= number, "numbers went back"
        self.newest = (view.incarnation, view.newest.number)
        positions = [h.position.count for h in view.headers if h.generation == view.generation]
        assert positions == sorted(set(positions)), "published out of order"


@dataclass
class Session:
    """One session on the real store, and a way for workers of any age to publish into it."""

    store: SyncStore
    owner: Owner = field(default_factory=lambda: Owner("acme", uuid4().hex))
    seq: int = 0

    def view(self) -> SessionView:
        """Take the session's state."""
        self.seq += 1
        call = session_calls.turn(
            self.owner,
            host="h",
            seq=self.seq,
            fresh_incarnation=f"life-{self.seq}",
            model="m",
            state_ttl=TTL,
            breaker_cooldown=5,
        )
        return self.store.run(call)

    def bodies(self, view: SessionView) -> dict[int, bytes | None]:
        """Read the stored bodies of all kept records."""
        return {h.version: self.store.run(blob_calls.record_get(self.owner, h.version)) for h in view.headers}

    def publish(self, view: SessionView, after: After, count: int, body: str) -> PublishStatus:
        """Publish as a worker that began when the session looked like `view` and `after`."""
        header = RecordHeader(
            version=after.number + 1,
            generation=view.generation,
            position=Position(count, count.to_bytes(16, "big")),
            body=body,
        )
        call = session_calls.publish(
            self.owner,
            record_bytes=f"{header.version} {body} {count}".encode(),
            header=header,
            after=after,
            incarnation=view.incarnation,
            kept=KEPT,
            state_ttl=TTL,
        )
        return self.store.run(call).status


step = st.one_of(
    st.just(("begin",)),
    st.tuples(st.just("publish"), st.integers(0, 5), st.integers(1, 12), st.sampled_from("abcd")),
    st.sampled_from([("fork",), ("cancel",), ("forget",)]),
)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(step, min_size=1, max_size=25))
def test_what_was_published_never_changes(store: SyncStore, steps: list[Any]) -> None:
    """Workers that began at any time publish in any order, twice, late, or after a fork, after they were
    cancelled, or after the session was forgotten."""
    session, watch = Session(store), Watch()
    began = [session.view()]
    for name, *arguments in steps:
        if name == "begin":
            began.append(session.view())
        elif name == "fork":
            view = session.view()
            store.run(
                session_calls.fork(
                    session.owner,
                    incarnation=view.incarnation,
                    generation=view.generation,
                    state_ttl=TTL,
                    cooldown=5,
                )
            )
        elif name == "cancel":
            store.run(session_calls.cancel(session.owner, state_ttl=TTL))
        elif name == "forget":
            assert forget(store, session.owner, shut=TTL).left.nothing
        else:
            which, count, body = arguments
            view = began[which % len(began)]
            session.publish(view, view.newest, count, body)
        now = session.view()
        watch.look(now, session.bodies(now))


def test_the_watch_sees_a_version_that_was_overwritten(store: SyncStore, database: Any) -> None:
    """The checker is able to fail: a store that lets a late worker overwrite a record is found out."""
    session, watch = Session(store), Watch()
    view = session.view()
    assert session.publish(view, view.newest, 3, "a") is PublishStatus.PUBLISHED
    now = session.view()
    watch.look(now, session.bodies(now))
    database.set(session.owner.record(1), b"another body", px=60_000)
    with pytest.raises(AssertionError, match="a version changed"):
        watch.look(now, session.bodies(now))
