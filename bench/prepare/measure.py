"""The measurement: all rivals take turns, each after a pause: a host's turns never come back to back."""

from __future__ import annotations

import copy
import gc
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from bench.peers.environment import Peer, PeerUnavailable
from bench.prepare.hosts import AppendOnly, Host, Stateless, pending, reapplied
from bench.samples import timed
from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.local_pool import LocalPool
from ebbtide_cli.settings import EXTRACTIVE, Settings
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.jsonio import compact
from ebbtide_core.store.client import SyncStore

PAUSE: Final = 0.001
"""Seconds before each measured call."""

READY_SECONDS: Final = 20.0
"""Seconds until a summary must be there."""

SELDOM: Final = 5
RARELY: Final = 50
"""What takes long is measured in each so many rounds only."""

LANGCHAIN: Final = Peer("langchain", ("langchain-core==1.5.2",), "langchain_count.py")

BARE: Final = "bare round trip (PING, the same client)"
BELOW: Final = "prepare, far below soft: nothing counted"
COUNTED: Final = "prepare, near soft: the new exchange counted"
PENDING: Final = "prepare, between soft and hard, compaction under way"
REAPPLIED: Final = "prepare, raw history kept, summary put in each turn"
FRESH: Final = "prepare, all messages copied (stateless host)"
LARGE: Final = "prepare, ten times the messages"
RECOUNT: Final = "recount: length of json.dumps / 4"
TOKENIZED: Final = "full count with o200k"
PEER: Final = "LangChain count_tokens_approximately"


@dataclass(frozen=True, slots=True)
class Scale:
    """How many messages the sessions begin with, how often they begin, and how many turns each is measured.

    They begin anew so that they stay about as long as they began. `peers`: install and measure others too.
    """

    messages: int
    laps: int
    turns: int
    peers: bool


@dataclass(slots=True)
class Figures:
    """Seconds of each call by row, the number of messages of a row, MB of JSON, and what was counted aside.

    `tokens`: o200k tokens of the session. `peer`: the peer's version, or why it is missing. `peer_recount`:
    the recount in the peer's process. `calls_at_1m`: calls of the tokenizer for a result of 200 kB.
    """

    samples: dict[str, list[float]] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    megabytes: float = 0.0
    tokens: int = 0
    peer: str = "no other project was measured"
    peer_recount: tuple[float, ...] = ()
    calls_at_1m: int = -1


def measured(scale: Scale) -> Figures:
    """Return the figures of one run."""
    found = Figures()
    with _pool() as (pool, slow, client):
        large = Host(slow, 10 * scale.messages, lambda size: int(size / 0.6))
        for _ in range(scale.laps):
            hosts = {**_hosts(pool, slow, scale), LARGE: large}
            _lap(found, hosts, scale, client)
        found.calls_at_1m = _calls_for_a_large_result(hosts[BELOW])
        if scale.peers:
            _ask_peer(found, hosts[COUNTED].turn.buffer, max(3, scale.turns // 2))
    return found


def _lap(found: Figures, hosts: dict[str, Host], scale: Scale, client: Any) -> None:
    """Measure the turns of hosts that have just begun."""
    messages = hosts[COUNTED].turn.buffer
    found.megabytes = len(compact(messages)) / 1e6
    found.tokens = sum(tokenizer().count(compact(m)) for m in messages)
    found.messages = {name: len(host.next) for name, host in hosts.items()}
    counting: dict[str, Callable[[], object]] = {
        RECOUNT: lambda: len(json.dumps(messages)) // 4,
        TOKENIZED: lambda: sum(tokenizer().count(compact(m)) for m in messages),
    }
    for name in (BARE, *hosts, *counting):
        found.samples.setdefault(name, [])
    gc.collect()
    for number in range(scale.turns):
        _round(found.samples, number, client, hosts, counting)
    if not (pending(hosts[PENDING]) and reapplied(hosts[REAPPLIED])):
        reports = (hosts[PENDING].turn.report, hosts[REAPPLIED].turn.report)
        raise RuntimeError(f"a host left the state in which it was to be measured: {reports}")


@contextmanager
def _pool() -> Iterator[tuple[Pool, Pool, Any]]:
    """A pool with a worker, one where nobody takes jobs, and a client, over TCP."""
    settings = Settings.read(summariser=EXTRACTIVE, concurrency=1)
    with (
        LocalPool(settings, EmbeddedServer(tcp=True), quiet=True) as local,
        EmbeddedServer(tcp=True) as idle,
        Pool(local.broker) as pool,
        Pool(idle.broker_url, policy=Policy(max_queue_age=3_600)) as slow,
        closing(SyncStore(idle.url)) as store,
    ):
        yield pool, slow, store._redis


def _hosts(pool: Pool, slow: Pool, scale: Scale) -> dict[str, Host]:
    count = scale.messages
    hosts = {
        BELOW: Host(slow, count, lambda size: 4 * size),
        COUNTED: Host(slow, count, lambda size: int(size / 0.6)),
        PENDING: Host(slow, count, lambda size: int(size / 0.75)),
        REAPPLIED: AppendOnly(pool, count, lambda size: int(size / 0.75)),
        FRESH: Stateless(slow, count, lambda size: int(size / 0.6)),
    }
    slow.flush()
    for name, there in ((PENDING, pending), (REAPPLIED, reapplied)):
        _until(hosts[name], there)
    return hosts


def _until(host: Host, there: Callable[[Host], bool]) -> None:
    """Prepare the same turn again until the host is in a state."""
    deadline = time.monotonic() + READY_SECONDS
    while not there(host):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the host did not come to the state {there.__name__}: {host.turn.report}")
        time.sleep(10 * PAUSE)
        host.step()
    host.ready()


def _round(
    samples: dict[str, list[float]],
    number: int,
    client: Any,
    hosts: dict[str, Host],
    counting: dict[str, Callable[[], object]],
) -> None:
    """Measure each rival once, those that take long in some rounds only."""
    work: dict[str, Callable[[], object]] = {BARE: lambda: client.execute_command("PING")}
    often = (BELOW, COUNTED, PENDING)
    work |= {name: hosts[name].step for name in hosts if name in often or number % SELDOM == 0}
    if number % SELDOM == 0:
        work |= {name: call for name, call in counting.items() if name == RECOUNT or number % RARELY == 0}
    for name, call in work.items():
        time.sleep(PAUSE)
        samples[name].append(timed(call))
    for name in hosts.keys() & work.keys():
        hosts[name].ready()


def _calls_for_a_large_result(host: Host) -> int:
    """Return how often the tokenizer is called for one more exchange with a result of 200 kB."""
    meter = host.meter
    counting = _Counting(meter.tokenizer)
    meter.tokenizer = counting
    host.next[-1] = copy.deepcopy(host.next[-1])
    host.next[-1]["content"][0]["content"] = "word " * 40_000
    host.step()
    meter.tokenizer = counting.inner
    return counting.calls


@dataclass(slots=True)
class _Counting:
    """A tokenizer that counts how often it is called."""

    inner: Any
    calls: int = 0
    name: str = "counting"

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        self.calls += 1
        counted: int = self.inner.count(text)
        return counted


def _ask_peer(found: Figures, messages: list[Any], rounds: int) -> None:
    try:
        answer = LANGCHAIN.ask({"messages": messages, "rounds": rounds})
    except PeerUnavailable as why:
        found.peer = f"LangChain is missing: {why}"
        return
    found.peer = f"langchain-core {answer['version']}"
    found.samples[PEER] = answer["seconds"]["count"]
    found.peer_recount = tuple(answer["seconds"]["recount"])
