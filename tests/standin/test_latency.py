"""How long a response takes: shapes, seeds, flags."""

from __future__ import annotations

import statistics
from random import Random
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from pydantic import TypeAdapter, ValidationError

from tests.standin import Behaviour, Drawn, Kind, LogNormal, Rate, Settings, StandIn, Uniform
from tests.standin.behaviour import Script
from tests.standin.latency import Latency, draw, parsed
from tests.standin.talk import ask

MANY = 4_000


def drawn(latency: Latency) -> list[float]:
    """Many draws, sorted."""
    random = Random(1)
    return sorted(draw(latency, random) for _ in range(MANY))


def test_a_number_is_a_constant() -> None:
    """Each request takes as long."""
    assert set(drawn(0.25)) == {0.25}


def test_uniform_fills_its_bounds_evenly() -> None:
    """No draw is outside, and the quarters are where they should be."""
    found = drawn(Uniform(low=1, high=5))
    assert 1 <= found[0] <= found[-1] <= 5
    assert statistics.quantiles(found, n=4) == pytest.approx([2, 3, 4], abs=0.15)


def test_log_normal_has_its_median_and_its_p99() -> None:
    """The two figures that are known of a model describe it."""
    found = drawn(LogNormal(median=5, p99=24))
    assert statistics.median(found) == pytest.approx(5, rel=0.05)
    assert found[int(0.99 * MANY)] == pytest.approx(24, rel=0.15)
    assert found[0] > 0


def test_measured_values_come_back() -> None:
    """All of them, and no others."""
    assert set(drawn(Drawn(values=(0.1, 2.0, 9.0)))) == {0.1, 2.0, 9.0}


@pytest.mark.parametrize(
    ("text", "latency"),
    [
        ("0.2", 0.2),
        ("uniform:0.1,0.3", Uniform(low=0.1, high=0.3)),
        ("lognormal:5,24", LogNormal(median=5, p99=24)),
        ("list:1,2,9", Drawn(values=(1, 2, 9))),
    ],
)
def test_a_flag_says_each_shape(text: str, latency: Latency) -> None:
    """And JSON tells the shapes apart by their fields."""
    assert parsed(text) == latency
    adapter: TypeAdapter[Any] = TypeAdapter(Latency)
    assert adapter.validate_json(adapter.dump_json(latency)) == latency


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "nan", "uniform:3,1", "uniform:1", "lognormal:5,4", "list:", "normal:1,2"]
)
def test_nonsense_is_refused(text: str) -> None:
    """By flag or by JSON."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  what it says is told by the flag's own error
        parsed(text)
    assert str(caught.value)


def test_a_document_of_no_shape_is_refused() -> None:
    """Fields of two shapes are none."""
    with pytest.raises(ValidationError):
        Settings.model_validate({"latency": {"low": 1, "p99": 2}})


def delays(seed: int, *, latency: Latency, number: int = 20) -> list[Behaviour]:
    """What a script decides for the next requests."""
    script = Script()
    failing = Rate(share=0.5, behaviour=Behaviour(kind=Kind.OVERLOADED))
    script.apply(Settings(seed=seed, latency=latency, jitter=0.1, rates=(failing,)))
    return [script.next("") for _ in range(number)]


def test_a_seed_decides_delays_and_outcomes_apart() -> None:
    """The same seed gives the same; another latency changes no outcome."""
    shape = LogNormal(median=1, p99=3)
    first = delays(7, latency=shape)
    assert delays(7, latency=shape) == first
    assert delays(8, latency=shape) != first
    assert [b.kind for b in delays(7, latency=0.0)] == [b.kind for b in first]
    assert len({b.latency for b in first}) == len(first)


async def test_a_behaviour_has_a_latency_of_its_own(standin: StandIn, client: AsyncAnthropic) -> None:
    """It replaces the setting, which holds for all others."""
    standin.control.set(Settings(latency=Uniform(low=0.2, high=0.21)))
    standin.control.queue(Behaviour(latency=Drawn(values=(0.0,))))
    for _ in range(2):
        await ask(client)
    quick, slow = (entry["ended"] - entry["at"] for entry in standin.control.requests(count=2, settled=True))
    assert quick < slow
    assert slow >= 0.2
