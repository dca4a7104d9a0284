"""One session's life: a real host turn by turn, a real worker, and what its model was asked."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, field
from typing import Any, Final

from tests.standin import Behaviour, Kind, Rate, Settings
from tests.waiting import wait_until

from bench.work.ground import ANSWER_ITEMS, Ground
from bench.work.talk import notes
from ebbtide import Policy, Pool
from ebbtide_cli.replay.drive import NEUTRAL_MODEL, steps
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.jsonio import unpack
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, tally_calls

TENANT: Final = "bench"
POLICY: Final = Policy(io_budget=2.0, wait_budget=0.0)
FAILING: Final = 0.5
"""The share of calls that fail in the first attempt at each job, when there are to be faults."""

_LONGEST: Final = 120.0

logging.getLogger("ebbtide").addHandler(logging.NullHandler())  # degraded turns are not what is asked here


@dataclass
class Life:
    """A session's published records in order, all requests to its model, and how many attempts failed."""

    records: list[SummaryRecord] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    failed: int = 0

    @property
    def news(self) -> list[int]:
        """Tokens of the messages that each compaction was about, as the host counted them."""
        return [record.source_tokens for record in self.records]

    @property
    def summaries(self) -> list[int]:
        """Tokens of each summary."""
        return [record.summary_tokens for record in self.records]


def lived(ground: Ground, transcript: Transcript, window: int, compactions: int, *, faults: bool) -> Life:
    """Drive a session until it has so many records, or ends. Each turn finds all jobs done.

    With `faults`, half of the calls of the first attempt at each job fail (500), and the next turn has it
    tried again.
    """
    life = Life()
    owner = Owner.of(TENANT, transcript.id)
    _behave(ground, life, reset=True, faults=faults)
    with Pool(ground.broker.url, ground.state.url, policy=POLICY) as pool:
        session = pool.session(
            tenant=owner.tenant,
            session_id=owner.session_id,
            model=NEUTRAL_MODEL,
            dialect=transcript.format,
            context_window=window,
        )

        def pause() -> None:
            assert pool.flush(_LONGEST), "the background work hangs"
            wait_until(ground.idle, "all jobs are done", _LONGEST)
            if _published(ground, owner, life):
                _behave(ground, life, reset=False, faults=faults)
            elif faults and _failed(ground, owner) > life.failed:
                life.failed = _failed(ground, owner)
                _behave(ground, life, reset=False, faults=False)

        for _ in steps(transcript, session, max_tokens=None, pause=pause):
            if len(life.records) == compactions:
                break
        pause()
    life.entries = ground.standin.control.requests(settled=True)
    return life


def _published(ground: Ground, owner: Owner, life: Life) -> bool:
    """Note the next record, if there is one by now."""
    packed = ground.store.run(blob_calls.record_get(owner, len(life.records) + 1))
    if packed is None:
        return False
    life.records.append(SummaryRecord.from_json(unpack(packed)))
    return True


def _failed(ground: Ground, owner: Owner) -> int:
    tally = ground.store.run(tally_calls.tally(owner))
    return sum(times for event, times in tally.items() if event.startswith("neutral:"))


def _behave(ground: Ground, life: Life, *, reset: bool, faults: bool) -> None:
    """Have the stand-in answer with new notes for the next job, or fail half of its calls."""
    seed = len(life.records)
    told = Rate(share=1, behaviour=Behaviour(fields=notes(random.Random(seed), ANSWER_ITEMS)))
    failing = Rate(share=FAILING, behaviour=Behaviour(kind=Kind.STATUS, status=500))
    rates = (failing, told) if faults else (told,)
    ground.standin.control.set(Settings(reset=reset, rates=rates, seed=seed))
