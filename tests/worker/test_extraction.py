"""Rules read each message of a job once, whoever asks for what it says."""

from __future__ import annotations

from collections import Counter

import pytest

from ebbtide_core.dialects.base import BlockKind
from ebbtide_core.summary import extract
from ebbtide_core.summary.identifiers import Lexicon
from ebbtide_core.summary.source import SourceMessage
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often the rules ran over each message, by its index."""
    counted: Counter[int] = Counter()
    real = extract._findings

    def findings(message: SourceMessage, lexicon: Lexicon) -> extract.Findings:
        assert message.of_kind(BlockKind.TEXT)
        counted[message.index] += 1
        return real(message, lexicon)

    monkeypatch.setattr(extract, "_findings", findings)
    return counted


async def test_chunks_and_ledger_share_what_was_read(
    make_shop: MakeShop, host: HostSide, reads: Counter[int]
) -> None:
    """A job of several chunks, summarised by rules and completed by the ledger, reads each message once."""
    host.policy = small_policy(chunk_tokens=300)
    order = host.enqueue(chat(20))

    await work(make_shop(summariser="extractive"))

    assert len(host.record(1).coverage) > 1
    assert reads == dict.fromkeys(range(order.cut.position.count), 1)


async def test_a_model_s_job_reads_each_message_once(
    make_shop: MakeShop, host: HostSide, reads: Counter[int]
) -> None:
    """Where a model writes the summaries, the ledger alone reads."""
    order = host.enqueue(chat(20))

    await work(make_shop())

    assert host.record(1).body_fits()
    assert reads == dict.fromkeys(range(order.cut.position.count), 1)
