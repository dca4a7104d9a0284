"""Text that was cut in the middle of a character, or could not be encoded ever again."""

from __future__ import annotations

import json
from typing import Any

from ebbtide import Action
from ebbtide_core.store.client import SyncStore
from ebbtide_core.views.view import Rung
from tests.core.say import assistant, call, result, user
from tests.host.conftest import MakeHost
from tests.host.publisher import manifest_of, messages_of, take, work_once

CODER = "\U0001f469\u200d\U0001f4bb"
BROKEN = "a" * 2_999 + "\ud83d"


def encoded(value: Any) -> str:
    """The request as its bytes are read at the other end."""
    return json.dumps(value, ensure_ascii=False).encode().decode()


def test_half_a_character_makes_the_request_invalid_for_ever(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A lone surrogate came in with a result: it is accepted, counted, and sent, uploaded and summarised as
    U+FFFD; the host's own message is not touched."""
    messages = [
        user("go"),
        assistant(call("t1")),
        user(result("t1", BROKEN)),
        assistant("ok " + CODER * 800),
        user("next"),
    ]
    host = make_host(window=7_000, model="claude-test")
    turn = host.prepare(messages, max_tokens=10)
    assert turn.report.action is Action.ENQUEUE
    assert turn.messages[2]["content"][0]["content"] == BROKEN[:-1] + "\ufffd"
    assert turn.buffer == messages
    assert "\ufffd" in encoded(turn.messages)
    host.flush()
    job = take(worker_store)
    assert job is not None
    uploaded = messages_of(worker_store, job, manifest_of(worker_store, job))
    assert "a\ufffd" in encoded(uploaded)


def test_a_cut_falls_inside_a_character(make_host: MakeHost) -> None:
    """A limit in code units split an emoji. Results are cut between code points, and what is sent can be
    encoded."""
    messages = [user("go"), assistant(call("t1")), user(result("t1", CODER * 4_000 + BROKEN))]
    for window in range(2_000, 2_010):
        turn = make_host(window=window, model="claude-test").prepare(messages, max_tokens=10)
        assert turn.report.rung is Rung.CLIPPED
        sent = encoded(turn.messages)
        assert CODER in sent
        assert set(turn.messages[-1]["content"][0]["content"]) <= {*CODER, *BROKEN[:-1], "\ufffd", *MARK}


MARK = "\n[... 0123456789 characters of this tool result are left out ...]\n"


def test_a_summary_of_broken_text_can_be_read(make_host: MakeHost, worker_store: SyncStore) -> None:
    """What is quoted in the summary is whole, at its limits too."""
    host = make_host(window=7_000, model="claude-test")
    messages = [
        user("never " + CODER * 2_000),
        assistant(call("t1")),
        user(result("t1", BROKEN, is_error=True)),
        assistant("ok " + CODER * 100),
        user("next"),
    ]
    host.prepare(messages, max_tokens=10)
    host.flush()
    assert work_once(worker_store) is not None
    turn = host.prepare(messages, max_tokens=10)
    assert turn.swap is not None
    assert encoded(turn.messages)
