"""The measurement: each host takes turns with a bare round trip; then some do so with cold caches."""

from __future__ import annotations

import copy
import gc
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import redis

from bench.peers.environment import Peer, PeerUnavailable
from bench.prepare.hosts import AppendOnly, Host, Marking, Stateless, pending, reapplied
from bench.samples import repeated, timed
from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.local_pool import LocalPool
from ebbtide_cli.settings import EXTRACTIVE, Settings
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.jsonio import compact

READY_SECONDS: Final = 20.0
POLL: Final = 0.01
"""Seconds until a summary must be there, and between looks."""

IDLE: Final = 0.001
"""Seconds that a host sleeps before a turn with cold caches, after other work in its process."""

FEW: Final = 5
RARE: Final = 50
"""What takes long is measured a fifth, a fiftieth as often."""

LANGCHAIN: Final = Peer("langchain", ("langchain-core==1.5.2",), "langchain_count.py")

BARE: Final = "bare round trip (PING by the same client)"
BELOW: Final = "prepare, far below soft: nothing counted"
COUNTED: Final = "prepare, near soft: counted when a bound is reached"
PENDING: Final = "prepare, between soft and hard, compaction under way"
REAPPLIED: Final = "prepare, raw history kept, summary put in each turn"
FRESH: Final = "prepare, all messages copied (stateless host)"
COLD: Final = "prepare, near soft, after other work and 1 ms of sleep"
MARKED: Final = "prepare, the cache mark moved by copy"
LARGE: Final = "prepare, ten times the messages"
RECOUNT: Final = "recount: length of json.dumps / 4"
TOKENIZED: Final = "full count with o200k"
PEER: Final = "LangChain count_tokens_approximately"

ROWS: Final = (BELOW, COUNTED, PENDING, REAPPLIED, MARKED, FRESH, LARGE, COLD, RECOUNT, TOKENIZED)

Call = Callable[[], object]


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
class Pair:
    """Seconds of each call, and of the bare round trips that took turns with it (none: not measured)."""

    call: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Figures:
    """Samples by row, the number of messages of a row, MB of JSON, and what was counted aside.

    `tokens`: o200k tokens of the session. `peer`: the peer's version, or why it is missing. `peer_recount`:
    the recount in the peer's process. `calls_at_1m`: calls of the tokenizer for a result of 200 kB.
    """

    rows: dict[str, Pair] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    megabytes: float = 0.0
    tokens: int = 0
    peer: str = "no other project was measured"
    peer_recount: tuple[float, ...] = ()
    calls_at_1m: int = -1


def measured(scale: Scale) -> Figures:
    """Return the figures of one run."""
    found = Figures(rows={name: Pair() for name in ROWS})
    with _pool() as (pool, slow, client):
        large = Host(slow, 10 * scale.messages, lambda size: int(size / 0.6))
        for _ in range(scale.laps):
            hosts = {**_hosts(pool, slow, scale), LARGE: large}
            _lap(found, hosts, scale, lambda: client.execute_command("PING"))
        found.calls_at_1m = _calls_for_a_large_result(hosts[BELOW])
        if scale.peers:
            _ask_peer(found, hosts[COUNTED].turn.buffer, max(3, scale.turns // 2))
    return found


def _lap(found: Figures, hosts: dict[str, Host], scale: Scale, bare: Call) -> None:
    """Measure the turns of hosts that have just begun, one host after the other."""
    messages = hosts[COUNTED].turn.buffer
    found.megabytes = len(compact(messages)) / 1e6
    found.tokens = sum(tokenizer().count(compact(m)) for m in messages)
    found.messages = {name: host.size for name, host in hosts.items()}
    few = max(2, scale.turns // FEW)
    for name, host in hosts.items():
        gc.collect()
        _turns(found.rows[name], host, few if name in (MARKED, FRESH, LARGE) else scale.turns, bare)
    if not (pending(hosts[PENDING]) and reapplied(hosts[REAPPLIED])):
        reports = (hosts[PENDING].turn.report, hosts[REAPPLIED].turn.report)
        raise RuntimeError(f"a host left the state in which it was to be measured: {reports}")
    _turns(found.rows[COLD], hosts[COUNTED], few, bare, before=lambda: _other_work(messages))
    found.rows[RECOUNT].call += repeated(lambda: len(json.dumps(messages)) // 4, few)
    found.rows[TOKENIZED].call += repeated(
        lambda: sum(tokenizer().count(compact(m)) for m in messages), max(1, scale.turns // RARE)
    )


def _turns(pair: Pair, host: Host, turns: int, bare: Call, before: Call = lambda: None) -> None:
    """Measure turns of one host, each beside a bare round trip; `before` comes before either."""
    for _ in range(turns):
        before()
        pair.bare.append(timed(bare))
        before()
        host.ready()
        pair.call.append(timed(host.step))


def _other_work(messages: list[Any]) -> None:
    json.dumps(messages)
    time.sleep(IDLE)


@contextmanager
def _pool() -> Iterator[tuple[Pool, Pool, Any]]:
    """A pool with a worker, one where nobody takes jobs, and a client, over TCP."""
    settings = Settings.read(summariser=EXTRACTIVE, concurrency=1)
    with (
        LocalPool(settings, EmbeddedServer(tcp=True), quiet=True) as local,
        EmbeddedServer(tcp=True) as idle,
        Pool(local.broker) as pool,
        Pool(idle.broker_url, policy=Policy(max_queue_age=3_600)) as slow,
        redis.Redis.from_url(idle.url, protocol=2) as client,
    ):
        yield pool, slow, client


def _hosts(pool: Pool, slow: Pool, scale: Scale) -> dict[str, Host]:
    count = scale.messages
    hosts = {
        BELOW: Host(slow, count, lambda size: 4 * size),
        COUNTED: Host(slow, count, lambda size: int(size / 0.6)),
        PENDING: Host(slow, count, lambda size: int(size / 0.75)),
        REAPPLIED: AppendOnly(pool, count, lambda size: int(size / 0.75)),
        MARKED: Marking(slow, count, lambda size: int(size / 0.6)),
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
        time.sleep(POLL)
        host.step()


def _calls_for_a_large_result(host: Host) -> int:
    """Return how often the tokenizer is called for one more exchange with a result of 200 kB."""
    meter = host.meter
    counting = _Counting(meter.tokenizer)
    meter.tokenizer = counting
    host.ready()
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
    found.rows[PEER] = Pair(answer["seconds"]["count"])
    found.peer_recount = tuple(answer["seconds"]["recount"])
