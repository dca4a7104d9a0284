"""Which sessions are played how, and what is kept of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench.stall.hosts import Ebbtide, Host, Inline, Moment
from bench.stall.plays import SHRINK, Play, Repertoire, Step, invented, real, spoken, wide
from bench.stall.stage import Load, Part, Stage, Times, played

FASTER: Final = 4
ONE_IN: Final = 3
"""One session in three is also played that many times faster, through Ebbtide."""

FASTER_UP_TO: Final = 24.0
"""Faster sessions are played up to so many unscaled seconds a call: with more they only degrade, which keeps
the machine busy.
"""

BROAD: Final = "200k-like"
CLOSE: Final = "32k"
"""Names of what is played: growth as in a window of 200k, and real sessions in one of 32k."""

SESSIONS_A_TENANT: Final = 8
"""As many as a tenant may have jobs running: the cap on tenants is not what is measured here."""

EVERY: Final = 2
MOST_TURNS: Final = 120
"""Every second real session is played, and of long ones the first turns: the machine is not to be busy."""

SHRUNK: Final = {
    "chunk_tokens": 7_680,
    "keep_recent_tokens": 3_200,
    "min_new_tokens": 1_280,
    "max_tokens": 655,
    "summary_max_tokens": 655,
}
"""The defaults of a window of 200k, shrunk to 32k as the texts are."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compact. `ebbtide`: it prepares ahead, and has a ready-in-time ratio."""

    name: str
    ebbtide: bool
    share: float = 0.0


EBBTIDE: Final = Way("Ebbtide", ebbtide=True)
WAYS: Final = (Way("inline 95 %", False, 0.95), Way("inline 70 %", False, 0.70), EBBTIDE)


@dataclass(frozen=True, slots=True)
class Setting:
    """Sessions of one kind, their requests following each other `cadence` times as fast as real ones."""

    name: str
    plays: tuple[Play, ...]
    ways: tuple[Way, ...]
    cadence: float = 1.0


@dataclass(frozen=True, slots=True)
class Played:
    """The turns of all sessions of one setting, one way, at one latency (unscaled seconds a call)."""

    setting: Setting
    way: Way
    latency: float
    sessions: tuple[tuple[Moment, ...], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """All that was played at one latency, what the worker told meanwhile, and the load."""

    latency: float
    played: tuple[Played, ...]
    told: tuple[dict[str, Any], ...]
    load: Load


def repertoire(scale: float, quick: bool) -> Repertoire:
    """Return the sessions that there are: real ones, or where they are absent, or to be quick, invented
    ones.
    """
    policy = Times(scale).policy()
    if quick:
        return invented(policy, 6, 24, head=13_000)
    return real(policy, MOST_TURNS) or invented(policy, 60, MOST_TURNS)


def settings(found: Repertoire, scale: float, quick: bool) -> tuple[Setting, ...]:
    """Return what is played."""
    number, turns = (4, 30) if quick else (36, 75)
    broad = tuple(wide(found, Times(scale).policy(**SHRUNK), number, turns))
    close = found.plays if quick else found.plays[::EVERY]

    def fast(plays: Sequence[Play]) -> tuple[Play, ...]:
        return tuple(play.faster(FASTER) for play in plays[::ONE_IN])

    return (
        Setting(BROAD, broad, WAYS),
        Setting(CLOSE, close, WAYS),
        Setting(f"{BROAD}, {FASTER}x", fast(broad), (EBBTIDE,), FASTER),
        Setting(f"{CLOSE}, {FASTER}x", fast(close), (EBBTIDE,), FASTER),
    )


def perform(stage: Stage, given: Sequence[Setting], latency: float, lasts: float) -> Run:
    """Play everything once, all ways side by side, with a model that takes so long a call.

    Sessions begin at random so that, nobody waiting, all end within `lasts` unscaled seconds.
    """
    stage.latency(latency)
    stage.worker.told()
    given = [setting for setting in given if setting.cadence == 1 or latency <= FASTER_UP_TO]
    chance = random.Random(0)
    plan = [(setting, way, play) for setting in given for way in setting.ways for play in setting.plays]
    parts = [
        Part(
            play,
            _host(stage, way, play, _tenant(latency, setting, n)),
            chance.random() * max(0.0, lasts - sum(play.gaps)) / stage.scale,
            watched=setting.cadence == 1,
        )
        for n, (setting, way, play) in enumerate(plan)
    ]
    moments, load = played(stage, parts)
    told = tuple(stage.worker.told())
    found = tuple(
        Played(
            setting,
            way,
            latency,
            tuple(tuple(m) for m, (s, w, _) in zip(moments, plan, strict=True) if s is setting and w is way),
        )
        for setting in given
        for way in setting.ways
    )
    return Run(latency, found, told, load)


def warmed(stage: Stage) -> None:
    """Let everything be loaded and connected that is so only once in the life of a process."""
    steps = [Step(300, 3_000, 1.0)] * 40
    play = spoken("warm-up", steps, Times(stage.scale).policy(**SHRUNK), shrink=SHRINK, head=20_000)
    perform(stage, [Setting("warm-up", (play,), WAYS)], 0.1, 0.0)


def _host(stage: Stage, way: Way, play: Play, tenant: str) -> Callable[[], Host]:
    if way.ebbtide:
        return partial(Ebbtide, stage.pool, play, tenant)
    return partial(Inline, stage.client, play, way.share)


def _tenant(latency: float, setting: Setting, number: int) -> str:
    return f"{setting.name}-{latency:g}-{number // SESSIONS_A_TENANT}"
