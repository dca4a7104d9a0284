"""(b) What a worker makes of its slots, and what a job costs it: real process, broker, SDK and stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.report import Cell, Goal, Result
from bench.work.ground import Ground
from bench.work.ideal import rounds
from bench.work.jobs import Shape
from bench.work.trial import Trial, idle_rate, tried
from bench.work.yardstick import measured
from ebbtide_worker.config import WorkerConfig

SHARE: Final = 0.9
PEAK_MB: Final = 250
IN_FLIGHT: Final = 16
PER_JOB: Final = WorkerConfig(broker="", state="").map_per_job

_COLUMNS: Final = (
    "", "jobs", "calls", "seconds", "share of ideal", "jobs/s", "CPU ms a job",
    "round trips a job", "store kB a job", "broker commands a job", "peak MB",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Load:
    """How much is measured. `latency` is that of a call, in seconds."""

    shape: Shape
    jobs: int
    latency: float = 0.2


@dataclass(frozen=True, slots=True)
class Measured:
    """A load's middle trial, and what the same calls take the SDK alone (seconds, processor seconds)."""

    load: Load
    trial: Trial
    alone: tuple[float, float]

    @property
    def ideal(self) -> float:
        """Seconds if all calls were spread over all slots."""
        return len(self.trial.bodies) * self.load.latency / IN_FLIGHT

    @property
    def in_order(self) -> float:
        """Seconds if nothing took time but calls, each merge after its chunks."""
        load = self.load
        return load.latency * rounds(load.jobs, load.shape.chunks, in_flight=IN_FLIGHT, per_job=PER_JOB)

    @property
    def share(self) -> float:
        """What share of the ideal was reached."""
        return self.ideal / self.trial.seconds


def run(*, quick: bool) -> Result:
    """Return the table: jobs with a model, the SDK alone, and jobs without a model."""
    repeats, idle = (1, 0.5) if quick else (3, 4.0)
    loads = _loads(quick)
    found = [_with_model(load, repeats, idle) for load in loads]
    extracted = _without_model(loads[0], repeats, idle)
    rows = [row for one in found for row in (_row(_named(one.load), one.trial, one), _alone(one))]
    return Result(
        name="work",
        title=f"Work: jobs of {loads[0].shape.chunks} chunks, {IN_FLIGHT} calls in flight, "
        f"{loads[0].latency:g} s a call",
        columns=_COLUMNS,
        rows=(*rows, _row("Ebbtide, extractive", extracted, None)),
        goals=_goals(found[0], extracted),
        notes=_notes(found[0], repeats),
    )


def _loads(quick: bool) -> tuple[Load, ...]:
    if quick:
        return (Load(Shape(3, 1_000), 4, 0.02),)
    return Load(Shape(8, 1_000), 128), Load(Shape(8, 4_000), 32)


def _with_model(load: Load, repeats: int, idle: float) -> Measured:
    """Measure a load and, in turns with it, the SDK alone."""
    trials: list[Trial] = []
    alone: list[tuple[float, float]] = []
    with Ground(summariser="anthropic", map_per_process=IN_FLIGHT, tick=60.0) as ground:
        ground.answer(load.latency)
        tried(ground, load.shape, 4, "warm", 0.0)
        rate = idle_rate(ground, idle)
        for number in range(repeats):
            ground.answer(load.latency)
            trials.append(tried(ground, load.shape, load.jobs, f"s{number}", rate))
            alone.append(measured(ground.standin.url, trials[-1].bodies, IN_FLIGHT))
    return Measured(load, _middle(trials), sorted(alone)[len(alone) // 2])


def _without_model(load: Load, repeats: int, idle: float) -> Trial:
    with Ground(summariser="extractive", tick=60.0) as ground:
        tried(ground, load.shape, 4, "warm", 0.0)
        rate = idle_rate(ground, idle)
        trials = [tried(ground, load.shape, load.jobs, f"s{number}", rate) for number in range(repeats)]
    return _middle(trials)


def _middle(trials: Sequence[Trial]) -> Trial:
    return sorted(trials, key=lambda trial: trial.seconds)[len(trials) // 2]


def _named(load: Load) -> str:
    return f"Ebbtide, chunks of {load.shape.chunk_tokens:,}"


def _row(name: str, trial: Trial, of: Measured | None) -> tuple[Cell, ...]:
    return (
        name,
        trial.jobs,
        len(trial.bodies),
        trial.seconds,
        of.share if of else "",
        trial.jobs / trial.seconds,
        1000 * trial.cpu / trial.jobs,
        trial.trips.total() / trial.jobs,
        trial.store_bytes / trial.jobs / 1e3,
        trial.broker / trial.jobs,
        round(trial.peak_mb),
    )


def _alone(one: Measured) -> tuple[Cell, ...]:
    seconds, cpu = one.alone
    jobs, calls = one.load.jobs, len(one.trial.bodies)
    return (
        "the SDK alone, same calls", jobs, calls, seconds, one.ideal / seconds, jobs / seconds,
        1000 * cpu / jobs, "", "", "", "",
    )  # fmt: skip


def _goals(found: Measured, extracted: Trial) -> tuple[Goal, ...]:
    trips = found.trial.trips.total() / found.load.jobs
    allowed = 8 + 3 * found.load.shape.chunks
    peak = max(found.trial.peak_mb, extracted.peak_mb)
    return (
        Goal("Share of the ideal", f"at least {SHARE}", f"{found.share:.2f}", found.share >= SHARE),
        Goal(
            f"Round trips of a job of {found.load.shape.chunks} chunks to the state store",
            f"at most {allowed}: 8, and 3 a chunk",
            f"{trips:.1f}",
            trips <= allowed,
        ),
        Goal("Peak memory of the process", f"at most {PEAK_MB} MB", f"{peak:.0f} MB", peak <= PEAK_MB),
    )


def _notes(found: Measured, repeats: int) -> tuple[str, ...]:
    trial, jobs = found.trial, found.load.jobs
    scripts = ", ".join(f"{name} {times / jobs:.2f}" for name, times in sorted(trial.trips.items()))
    return (
        f"Ideal: calls · latency / slots = {found.ideal:.2f} s. With each merge after its chunks it is "
        f"{found.in_order:.2f} s, of which {found.in_order / trial.seconds:.2f} were reached; the SDK alone, "
        f"whose calls do not depend on each other, took {found.alone[0]:.2f} s.",
        f"At most {trial.in_flight} calls were in flight. Round trips a job: {scripts}. The state store's "
        f"server counted {trial.state / jobs:.1f} commands a job.",
        f"The middle of {repeats} trials, in turns with the SDK alone. All jobs are ready before the first "
        "permit is sent; sending permits, and the last job's end, are within the time.",
        "Processor time and memory are the worker process's, its imports are not in the former. Broker "
        "commands are all of host and worker, less what an idle worker asks.",
        "0.2 s stand for a call of 10 s, 1,000 tokens for a chunk of the default 48,000: both over 50.",
    )
