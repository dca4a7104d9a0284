"""How long the stand-in waits before it responds: fixed, or drawn from a distribution."""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_TO_P99: Final = NormalDist().inv_cdf(0.99)


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Uniform(_Shape):
    """Evenly between two bounds, in seconds."""

    low: Seconds
    high: Seconds

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")
        return self


class LogNormal(_Shape):
    """What models take: most calls near the median, few much longer. Seconds."""

    median: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    p99: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.median > self.p99:
            raise ValueError(f"median {self.median:g} is above p99 {self.p99:g}")
        return self


class Drawn(_Shape):
    """One of these values, each as likely: seconds that were measured."""

    values: tuple[Seconds, ...] = Field(min_length=1)


Latency = Seconds | Uniform | LogNormal | Drawn
"""A number is a constant."""


def draw(latency: Latency, random: Random) -> float:
    """Return the seconds of one request."""
    match latency:
        case Uniform(low=low, high=high):
            return random.uniform(low, high)
        case LogNormal(median=median, p99=p99):
            return median * math.exp(math.log(p99 / median) / _TO_P99 * random.gauss())
        case Drawn(values=values):
            return random.choice(values)
        case _:
            return latency


def parsed(text: str) -> Latency:
    """Return the latency that a flag says: `0.2`, `uniform:0.1,0.3`, `lognormal:5,24`, `list:1,2,9`.

    Raises ValueError.
    """
    shape, _, figures = text.rpartition(":")
    values = tuple(float(figure) for figure in figures.split(","))
    match shape, values:
        case "", (seconds,):
            return Drawn(values=(seconds,)).values[0]
        case "uniform", (low, high):
            return Uniform(low=low, high=high)
        case "lognormal", (median, p99):
            return LogNormal(median=median, p99=p99)
        case "list", _:
            return Drawn(values=values)
    raise ValueError(f"no latency: {text!r}")
