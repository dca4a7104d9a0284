"""The normal shape of an agent session: one request of the user, then hundreds of tool rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ebbtide import Action
from ebbtide_cli.replay.provider_rules import Format, new_violations
from ebbtide_core.store.client import SyncStore
from ebbtide_core.summary.model import MAX_REQUEST_CHARS
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.talk import REQUEST, response_round, tool_round

ROUNDS = 300


def texts(message: dict[str, Any]) -> str:
    """Return what a message says."""
    content = message.get("content", "")
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


ROUND_OF: dict[Format, Callable[[int], list[dict[str, Any]]]] = {
    "anthropic": tool_round,
    "openai_responses": response_round,
}


@pytest.mark.parametrize("fmt", ROUND_OF)
@pytest.mark.parametrize("long", [False, True])
def test_one_request_and_300_tool_rounds_are_compacted_again_and_again(
    make_host: MakeHost, worker_store: SyncStore, long: bool, fmt: Format
) -> None:
    """The middle is compacted as often as needed, every request sent is valid, and the user's request stands
    in each buffer word for word: in the summary, or as a carried message when it is too long for one."""
    request = REQUEST + (" Mind this detail." * (MAX_REQUEST_CHARS // 15) if long else "")
    assert (len(request) > MAX_REQUEST_CHARS) == long
    host = make_host(window=12_000 if long else 6_000, model="claude-test", dialect=fmt)
    buffer: list[Any] = [{"role": "user", "content": request}]
    raw = list(buffer)
    versions, degraded = [], 0
    for i in range(ROUNDS):
        turn = host.prepare(buffer, max_tokens=500)
        host.flush()
        work_once(worker_store)
        assert sum(request in texts(m) for m in turn.buffer) == 1
        assert new_violations(fmt, raw, turn.messages) == []
        degraded += turn.report.action is Action.DEGRADE
        if turn.swap:
            versions.append(turn.swap.version)
            assert bool(turn.swap.carried) == long
        said = ROUND_OF[fmt](i)
        buffer, raw = turn.buffer + said, raw + said
    assert len(versions) >= 5
    assert versions == sorted(set(versions))
    assert degraded == 0
    assert len(buffer) < len(raw) / 2
