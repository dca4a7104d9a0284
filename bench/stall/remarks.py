"""What a reader must know to trust the figures, and why some fall short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Final

from bench.samples import percentile
from bench.stall.cadence import LONGEST_TURN
from bench.stall.figures import Counted
from bench.stall.plays import WINDOW, Repertoire
from bench.stall.programme import EBBTIDE, EVERY, FASTER, FASTER_UP_TO, MOST_TURNS, ONE_IN, Run

BUSY: Final = 2.0
"""Turns that begin so many unscaled seconds late show that the machine was too busy."""

_PHASES: Final = ("queue", "load", "map", "reduce", "validate", "publish")


def sessions(found: Repertoire) -> str:
    """Tell what was played."""
    if not found.measured:
        return (
            "Sessions: invented, since it had to be quick or there are no real transcripts in ../shared/data."
        )
    return (
        f"Sessions: one in {EVERY} of the {len(found.plays)} real ones that come to soft in a window of 32k, "
        f"their first {MOST_TURNS} turns; and sessions of words that grow, as a share of the window, as the "
        f"real ones do in one of 200k. One in {ONE_IN} is played once more with turns {FASTER} times faster, "
        f"up to {FASTER_UP_TO:g} s a call. "
        "Tokens are o200k's."
    )


def cadence(found: Repertoire) -> str:
    """Tell how fast turns follow each other, and how that is known."""
    pace, gaps = found.pace, [gap for play in found.plays for gap in play.gaps]
    factors = [factor for factor, _ in pace.stretches]
    source = (
        "No transcript has a time a message; it is read off the clock that tool results show in Claude Code "
        f"sessions ({len(found.measured)} stretches, {sum(span.turns for span in found.measured)} turns; "
        f"those of over {LONGEST_TURN:g} s a turn, where a person or a sub-agent was awaited, are left out)."
    )
    return (
        f"Cadence: {pace.per_turn:.1f} s a turn and {pace.per_token * 1000:.1f} ms a token that the model "
        f"writes, {min(factors):.1f} to {max(factors):.1f} times as slow by stretches; for all sets alike. "
        f"{source if found.measured else 'As measured on real sessions.'} Gaps: median {median(gaps):.1f} s, "
        f"mean {mean(gaps):.1f} s, p99 {percentile(gaps, 0.99):.0f} s, longest {max(gaps):.0f} s. A person's "
        "own time counts as none, against Ebbtide."
    )


def method(scale: float) -> tuple[str, ...]:
    """Tell what is scaled, how the baseline works, and what the columns mean."""
    return (
        f"Divided by {scale:g}: gaps, the model's latency, wait budget, queue age, deadline, tick, renewals. "
        "Not: computing, store, broker, I/O budget, the SDK's time-out, the host's polling (20 ms, then up "
        "to 250 ms), and leases, which run out only where a worker dies. So what a job computes counts "
        f"{scale:g} times against Ebbtide. The user's wait is unscaled again: waiting times that factor, "
        "computing as it is.",
        "Inline: one call through the SDK shows everything before the tail that Ebbtide would keep. Its "
        "summary is one line, Ebbtide's up to a tenth of the window, so inline compacts more rarely.",
        "Due: compactions that came to their end, or to hard. Wait: median, p99 and longest of what the user "
        "waited for one, over all its turns. Not whole: degraded turns; inline, requests still above hard.",
        "Ready in time: of all compactions due, those whose record was there, without waiting, at the first "
        "turn that came to hard, or that were swapped in before. Jumps: the turn that asked was above hard "
        "already, so nobody could have been ready; the last column leaves them out.",
    )


def room(found: Sequence[Counted]) -> Iterator[str]:
    """Tell how much time each kind of sessions leaves between soft and hard."""
    for each in found:
        setting = each.played.setting
        grown = [
            after.projected - before.projected
            for moments in each.played.sessions
            for before, after in pairwise(moments)
            if after.projected > before.projected
        ]
        policy = setting.plays[0].policy
        room = (policy.hard - policy.soft) * WINDOW
        gap = mean(gap for play in setting.plays for gap in play.gaps)
        yield (
            f"{setting.name}: from soft to hard {room / median(grown):.0f} turns at median growth, "
            f"{room / mean(grown):.0f} at mean growth, {room / mean(grown) * gap:.0f} s"
        )


def jobs(run: Run, scale: float) -> str:
    """Tell how long the phases of jobs took, and how jobs ended."""
    seconds: dict[str, list[float]] = {name: [] for name in _PHASES}
    for told in run.told:
        if told.get("phase") in seconds:
            seconds[told["phase"]].append(told["seconds"] * scale)
    phases = ", ".join(
        f"{name} {median(took):.1f} ({percentile(took, 0.99):.1f})" for name, took in seconds.items() if took
    )
    ends = Counter(told["ended"] for told in run.told if "ended" in told)
    return f"{run.latency:g} s a call: phases of jobs, median (p99), s: {phases}; jobs ended: " + ", ".join(
        f"{number} {end}" for end, number in ends.most_common()
    )


def load(run: Run, scale: float) -> str:
    """Tell how busy the machine was, and whether that spoils the figures."""
    own = ", ".join(f"{name} {100 * share:.0f} %" for name, share in run.load.own.items())
    faults = sum(m.faults for played in run.played for moments in played.sessions for m in moments)
    late = run.load.late * scale
    return (
        f"{run.latency:g} s a call: {100 * run.load.machine:.0f} % of all cores busy, of which {own}; turns "
        f"at the real cadence began up to {late:.1f} s late (p99, unscaled); {faults} faults met by hosts"
        + (" - THE MACHINE WAS TOO BUSY, these figures mean little" if late > BUSY or faults else "")
    )


def shortfall(each: Counted) -> str:
    """Tell why compactions were late that met no jump; "" when none was."""
    latency, whole = each.played.latency, each.ready(jumped=False)
    if not each.played.way.ebbtide or not each.late:
        return ""
    rooms = [late.room * each.scale for late in each.late]
    return (
        f"{each.played.setting.name}, {latency:g} s a call: {len(rooms)} late without a jump; from asking to "
        f"hard they had {median(rooms):.0f} s (median), {sum(room < latency for room in rooms)} of them less "
        f"than one call takes, {sum(latency <= room < 2 * latency for room in rooms)} less than two; "
        f"{sum(late.leapt for late in each.late)} met a turn that added more than lies between soft and "
        "hard. With one call and nothing else at best "
        f"{100 * whole.possible / whole.asked:.1f} % could be in time."
    )


def of_runs(runs: Sequence[Run], found: Sequence[Counted], scale: float) -> Iterator[str]:
    """Tell all that was measured beside the table."""
    yield from room([c for c in found if c.played.way is EBBTIDE and c.played.latency == runs[0].latency])
    for run in runs:
        yield jobs(run, scale)
        yield load(run, scale)
    yield from filter(None, map(shortfall, found))
