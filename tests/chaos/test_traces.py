"""What the stand-in and the logs tell is read as the summariser and the workers meant it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.traces import attempts, calls

from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import Partial
from tests.standin import Kind, StandIn
from tests.worker.anthropic.conftest import key, make, standin
from tests.worker.anthropic.talk import chunk, fault, terms

__all__ = ["key", "make", "standin"]


async def test_calls_about_the_same_chunk_are_known_by_its_text(
    standin: StandIn, make: Callable[..., Anthropic]
) -> None:
    """Whatever mark each of them has; other text and merges are told apart."""
    summariser, text = make(), "MSGID-h0s1_000004 went well"
    one = await summariser.map(chunk(text), terms())
    await summariser.map(chunk(text), terms())
    await summariser.map(chunk("MSGID-h0s2_000004 went well"), terms())
    await summariser.merge([Partial(one.summary, label="messages 0 to 9")] * 2, None, terms())
    first, again, other, merge = calls(standin.control.requests(count=4, settled=True))
    assert (first.chunk, again.chunk, other.chunk, merge.chunk) == (True, True, True, False)
    assert first.transcript == again.transcript
    assert len({each.transcript for each in (first, other, merge)}) == 3
    assert (first.session, other.session) == ("h0s1", "h0s2")
    assert first.outcome == "good"
    assert first.tokens > 0
    assert 0 < first.at <= first.ended


async def test_a_call_that_failed_is_known_by_its_text_too(
    standin: StandIn, make: Callable[..., Anthropic]
) -> None:
    """It cost nothing."""
    summariser = make()
    standin.control.queue(Kind.SERVER_ERROR)
    await fault(summariser, "MSGID-h0s1_000004 go")
    await summariser.map(chunk("MSGID-h0s1_000004 go"), terms())
    failed, good = calls(standin.control.requests(count=2, settled=True))
    assert (failed.outcome, failed.tokens, failed.transcript) == ("server_error", 0, good.transcript)


def test_requests_without_a_body_or_an_answer_are_read() -> None:
    """One that is under way, one whose body was no JSON."""
    entry: dict[str, Any] = {"ids": [], "at": 1.0, "ended": 0.0, "outcome": "pending", "usage": None}
    found = calls([{**entry, "body": "{half"}, {**entry, "body": {}}])
    assert [(each.session, each.chunk, each.tokens) for each in found] == [("", False, 0)] * 2


def test_the_ends_of_attempts_are_read_from_logs(tmp_path: Path) -> None:
    """What else is in a log, and half a line at its end, is passed over."""
    line = {
        "event": "job ended: neutral, replaced",
        "timestamp": "2026-01-02T12:00:10Z",
        "session": "h0s0",
        "job": "j",
        "epoch": 3,
        "attempt": 1,
        "outcome": "neutral",
        "reason": "replaced",
        "seconds": 4.0,
    }
    log = tmp_path / "log"
    log.write_text(
        f"Traceback\n{json.dumps({'event': 'Task x'})}\n{json.dumps(line)}\n{json.dumps(line)[:40]}"
    )
    [found] = attempts([log])
    assert (found.session, found.epoch, found.number, found.outcome) == ("h0s0", 3, 1, "neutral")
    assert found.ended - found.began == 4.0
