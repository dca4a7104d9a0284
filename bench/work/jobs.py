"""Jobs of a known shape, made by real hosts and ready before any worker may begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.work.ground import Ground
from bench.work.talk import ROUND_TOKENS, conversation
from ebbtide import Policy, Pool
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls

TENANTS: Final = 6

_ROUNDS_A_CHUNK: Final = 4
_TAIL_ROUNDS: Final = 2
_SLACK: Final = 1.1


@dataclass(frozen=True, slots=True)
class Shape:
    """Jobs of `chunks` chunks, each of `chunk_tokens` tokens at most and about nine tenths of that."""

    chunks: int
    chunk_tokens: int

    @property
    def rounds(self) -> int:
        """Rounds of a session's talk."""
        return self.chunks * _ROUNDS_A_CHUNK + _TAIL_ROUNDS

    @property
    def result_words(self) -> int:
        """Words of each result."""
        return round(self.chunk_tokens / _SLACK / _ROUNDS_A_CHUNK) - ROUND_TOKENS

    @property
    def policy(self) -> Policy:
        """The hosts' policy: all but two rounds are summarised, and a summary of 1,000 tokens has room."""
        return Policy(
            keep_recent_tokens=self.chunk_tokens // 4,
            min_new_tokens=100,
            chunk_tokens=self.chunk_tokens,
            summary_max_tokens=1_000,
            soft=0.5,
            io_budget=2.0,
            wait_budget=0.0,
            max_queue_age=600.0,
        )

    @property
    def window(self) -> int:
        """A window of which a session fills about four fifths."""
        return round(self.rounds * self.chunk_tokens / _SLACK / _ROUNDS_A_CHUNK / 0.8)


def enqueue(ground: Ground, shape: Shape, number: int, name: str) -> None:
    """Have the compaction of so many sessions of a few tenants enqueued."""
    enqueue_for(ground, shape, [Owner(f"tenant-{at % TENANTS}", f"{name}-{at}") for at in range(number)])


def enqueue_for(ground: Ground, shape: Shape, owners: Sequence[Owner]) -> None:
    """Have the compaction of sessions claimed, uploaded and enqueued, in order; their permits go nowhere.

    Raises AssertionError when a session asked for none.
    """
    with Pool(ground.shelf, ground.state.url, policy=shape.policy) as pool:
        for owner in owners:
            session = pool.session(
                tenant=owner.tenant,
                session_id=owner.session_id,
                model="bench",
                dialect="anthropic",
                context_window=shape.window,
            )
            messages = conversation(owner.session_id, shape.rounds, result_words=shape.result_words)
            turn = session.prepare(messages, max_tokens=200)
            assert turn.report.soft <= turn.report.projected < turn.report.hard, turn.report
            assert pool.flush(30.0), "the background work hangs"
    ready = ground.store.run(fleet_calls.depth()).ready
    assert ready == len(owners), f"{ready} of {len(owners)} jobs are ready"
