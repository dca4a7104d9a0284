"""Rate limits as the API enforces them: a token bucket for each key, and a bound on what is in flight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from tests.standin.errors import PRESETS, Error
from tests.standin.kinds import Kind

_NAMES: Final = ("requests", "input-tokens")


class Limits(BaseModel):
    """What one API key may do; None: no limit.

    `requests` and `input_tokens` are refilled evenly over `per` seconds and may be used at once.
    `concurrency` is how many requests may be in flight, of all keys. Input tokens are counted as usage is
    (`Settings.exact`), whether or not they are read from a cache (the API spares most models' cached ones).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int | None = Field(default=None, gt=0)
    input_tokens: int | None = Field(default=None, gt=0)
    per: float = Field(default=60.0, gt=0)
    concurrency: int | None = Field(default=None, gt=0)


@dataclass
class Bucket:
    """A token bucket of `size`, full at first, that fills up within `per` seconds."""

    size: int
    per: float
    level: float
    at: float

    def fill(self, now: float) -> None:
        """Add what has come in since the last time."""
        self.level = min(self.size, self.level + (now - self.at) * self.size / self.per)
        self.at = now

    def missing(self, amount: int) -> float:
        """Return the seconds until the amount is there, 0 when it is; `per` when it never will be."""
        if amount > self.size:
            return self.per
        return max(0.0, amount - self.level) * self.per / self.size


@dataclass(frozen=True)
class Answer:
    """What the limits say to one request: an error, or None, and the headers that tell what is left."""

    error: Error | None
    headers: dict[str, str]


class Meter:
    """Counts the use of each key against the limits. Safe to use from threads."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = Lock()
        self._buckets: dict[str, dict[str, Bucket]] = {}

    def ask(self, key: str, tokens: int, in_flight: int, now: float) -> Answer:
        """Say whether a request of so many tokens may go on, and count it if it may.

        `in_flight` includes the request; `now` is seconds of a clock that never goes back.
        """
        limits = self._limits
        if limits.concurrency is not None and in_flight > limits.concurrency:
            return Answer(PRESETS[Kind.OVERLOADED], {})
        with self._lock:
            buckets = self._buckets.setdefault(key, self._new(now))
            asked = dict(zip(_NAMES, (1, tokens), strict=True))
            for bucket in buckets.values():
                bucket.fill(now)
            waits = {name: bucket.missing(asked[name]) for name, bucket in buckets.items()}
            error = _refusal(limits, waits)
            if error is None:
                for name, bucket in buckets.items():
                    bucket.level -= asked[name]
            return Answer(error, _told(buckets))

    def _new(self, now: float) -> dict[str, Bucket]:
        sizes = zip(_NAMES, (self._limits.requests, self._limits.input_tokens), strict=True)
        per = self._limits.per
        return {name: Bucket(size, per, size, now) for name, size in sizes if size is not None}


def _refusal(limits: Limits, waits: dict[str, float]) -> Error | None:
    name, wait = max(waits.items(), key=lambda each: each[1], default=("", 0.0))
    if not wait:
        return None
    size = limits.requests if name == "requests" else limits.input_tokens
    what = f"{size} {name.replace('-', ' ')} per {limits.per:g} seconds"
    message = f"This request would exceed your organization's rate limit of {what}."
    return Error(429, message, retry_after=max(1, math.ceil(wait)))


def _told(buckets: dict[str, Bucket]) -> dict[str, str]:
    told = {}
    for name, bucket in buckets.items():
        full = datetime.now(UTC) + timedelta(seconds=bucket.missing(bucket.size))
        told[f"anthropic-ratelimit-{name}-limit"] = str(bucket.size)
        told[f"anthropic-ratelimit-{name}-remaining"] = str(max(0, int(bucket.level)))
        told[f"anthropic-ratelimit-{name}-reset"] = full.strftime("%Y-%m-%dT%H:%M:%SZ")
    return told
