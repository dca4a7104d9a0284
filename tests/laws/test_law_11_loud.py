"""Law 11: every decision yields a report, metrics and a structured log line; degraded ones are marked, and
listed for review."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide import Action, Mode, Policy, Pool, Reason, Report, Turn, UnfittableRequest
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import chat, reading, said

WINDOW = 4_000

events = st.lists(
    st.sampled_from(["said", "said", "said", "long", "huge", "reading", "work", "store down", "new host"]),
    min_size=3,
    max_size=16,
)


class Listener(logging.Handler):
    """Keeps the structured lines of turns."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        fields = getattr(record, "ebbtide", None)
        if record.name == "ebbtide.turn" and fields is not None:
            self.lines.append({**fields, "level": record.levelno})


def untold(
    reports: list[Report], turns: list[Turn], lines: list[dict[str, Any]], recorder: MemoryRecorder
) -> list[str]:
    """Return each turn that some voice did not tell of, or told otherwise."""
    faults = []
    if not len(reports) == len(turns) == len(lines):
        return [f"{len(turns)} turns, {len(reports)} reports, {len(lines)} lines"]
    for turn, report, line in zip(turns, reports, lines, strict=True):
        told = (report.action.value, report.reason.value, report.degraded)
        if (line["action"], line["reason"], line["degraded"]) != told:
            faults.append(f"the line of turn {report.turn} says {line}")
        if (line["level"] >= logging.WARNING) != bool(report.degraded or report.faults):
            faults.append(f"the line of turn {report.turn} has level {line['level']}")
        if report.degraded != bool(report.notice and report.rung):
            faults.append(f"turn {report.turn} is degraded without a word")
        if turn.messages != turn.buffer and not (report.omitted or report.superseded or report.thinking):
            faults.append(f"turn {report.turn} sends something else and declares nothing")
    for action in Action:
        seen = sum(report.action is action for report in reports)
        if recorder.total(metrics.TURNS, action.value) != seen:
            faults.append(f"{seen} turns did {action}, counted {recorder.total(metrics.TURNS, action.value)}")
    if recorder.total(metrics.DEGRADED) != sum(report.degraded for report in reports):
        faults.append("degraded turns are not counted")
    return faults


@pytest.fixture
def listener() -> Any:
    """Listens to the turns' log."""
    found, log = Listener(), logging.getLogger("ebbtide.turn")
    level = log.level
    log.addHandler(found)
    log.setLevel(logging.INFO)
    yield found
    log.removeHandler(found)
    log.setLevel(level)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=events,
    mode=st.sampled_from([Mode.ON, Mode.ON, Mode.SHADOW, Mode.OFF]),
    rounds=st.sampled_from([5, 15, 18, 26]),
)
def test_every_turn_is_told(
    server: EmbeddedServer, database: Any, listener: Listener, steps: list[str], mode: Mode, rounds: int
) -> None:
    """Whatever happens, each turn has one report, one line and one count, alike; the degraded ones of a
    session whose store answers are listed for review."""
    listener.lines.clear()
    recorder, reports = MemoryRecorder(), list[Report]()
    policy = Policy(**{**SMALL.model_dump(), "mode": mode})
    owner, store = Owner.of("acme", uuid4().hex), SyncStore(server.url, timeout=5.0)
    down = False

    def pool() -> Pool:
        state = "redis://127.0.0.1:1/0" if down else server.url
        return Pool(
            server.url, state, policy=policy, recorder=recorder, on_report=lambda r, _: reports.append(r)
        )

    named: dict[str, Any] = {
        "tenant": owner.tenant,
        "session_id": owner.session_id,
        "model": "gpt-test",
        "context_window": WINDOW,
    }
    buffer, turns, listed = chat(rounds), list[Turn](), 0
    open_pools = [pool()]
    session = open_pools[0].session(**named)
    for i, step in enumerate(steps, 100):
        if step == "work":
            work_once(store)
        elif step in ("store down", "new host"):
            down = step == "store down"
            open_pools.append(pool())
            session = open_pools[-1].session(**named)
        words = {"long": 500, "huge": 5_000}.get(step, 90)
        new = reading(i, words=300) if step == "reading" else said(i, words)
        try:
            turn = session.prepare([*buffer, *new])
        except UnfittableRequest as error:
            turn = error.turn
        turns.append(turn)
        buffer = turn.buffer if step != "huge" else buffer
        listed += turn.report.degraded and not down
        assert open_pools[-1].flush()
    assert untold(reports, turns, listener.lines, recorder) == []
    assert len(store.run(session_calls.review_list(owner))) == listed
    for each in open_pools:
        each.close()
    store.close()


def test_the_checker_hears_what_is_left_unsaid() -> None:
    """A turn without a line, a degraded turn without a word, a count too few."""
    report = Report(1, Action.KEEP, Reason.BELOW_SOFT, 1, 1, True, 10, 7, 9)
    loud = MemoryRecorder()
    loud.count(metrics.TURNS, action="keep", reason="below_soft")
    line = {"action": "keep", "reason": "below_soft", "degraded": False, "level": logging.INFO}
    turn = Turn([1], [1], report)
    assert untold([report], [turn], [line], loud) == []
    assert untold([report], [turn], [], loud) != []
    assert untold([report], [turn], [line], MemoryRecorder()) != []
    assert untold([report], [Turn([1], [1, 2], report)], [line], loud) != []
    assert untold([report], [turn], [{**line, "level": logging.WARNING}], loud) != []
