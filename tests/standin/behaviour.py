"""What the stand-in does with a request, and how that is chosen."""

from __future__ import annotations

import random
import threading
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tests.standin.kinds import STOPS, Kind
from tests.standin.latency import Latency, Seconds, draw
from tests.standin.limits import Limits, Meter

__all__ = ["Behaviour", "Call", "Kind", "Rate", "Script", "Settings"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Document):
    """One tool call of an answer."""

    name: str
    input: dict[str, Any] = Field(default_factory=dict)


class Behaviour(_Document):
    """One way to treat a request; `kinds.MEANING` says what each kind is.

    `when`: only requests whose prompt contains this. `latency`: before the response, None for the setting.
    `status`: of `status` (default 500) and `html` (default 200). `error_code` and `retry_after` (seconds)
    replace those of an error. `stop_reason`: of `stop`. `fields` replace fields of a good summary. `calls`:
    of `tool_call`, with new ids each time; without any, the request's first tool is called with nothing.
    """

    kind: Kind = Kind.GOOD
    when: str = ""
    latency: Latency | None = None
    status: int | None = Field(default=None, ge=200, le=599)
    error_code: str = ""
    retry_after: Seconds | None = None
    stop_reason: str = "max_tokens"
    text: str = ""
    fields: dict[str, Any] = Field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    seconds: float = Field(default=600.0, ge=0)

    @property
    def stops(self) -> str:
        """Why the model stops, "" when it ends by itself."""
        return self.stop_reason if self.kind is Kind.STOP else STOPS.get(self.kind, "")


class Rate(_Document):
    """A behaviour for a share (0 to 1) of the requests that fit its `when`; 1 means each of them."""

    share: float = Field(ge=0, le=1)
    behaviour: Behaviour


class Settings(_Document):
    """What `POST /control` takes; what is left out stays as it is.

    `reset` forgets everything first, the request log too. `queue` is added to what is queued: each behaviour
    serves one request. `rates` decide when nothing queued fits; `seed` starts the random numbers anew.
    `latency` and `jitter`: before each response, and the most seconds that are added at random. `window`:
    prompts of more tokens are rejected. `max_bytes`: longer requests are rejected. `limits` are enforced,
    with full buckets. `exact`: usage tells real token counts; else a token for four bytes, so that the
    stand-in of a bench takes no processor time for it (the window and `count_tokens` are always exact).
    `bodies`: the log keeps what was asked, as it does by default; else it takes little memory.
    """

    reset: bool = False
    queue: tuple[Behaviour, ...] = ()
    rates: tuple[Rate, ...] | None = None
    seed: int | None = None
    latency: Latency | None = None
    jitter: float | None = Field(default=None, ge=0)
    window: int | None = Field(default=None, gt=0)
    max_bytes: int | None = Field(default=None, gt=0)
    limits: Limits | None = None
    exact: bool | None = None
    bodies: bool | None = None


class Script:
    """Chooses a behaviour for each request, in the order of their arrival; safe to use from threads.

    `window`, `max_bytes`, `exact`, `bodies` and `meter` are what the settings say.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._queue: list[Behaviour] = []
        self._rates: tuple[Rate, ...] = ()
        self._seed(0)
        self._latency: Latency = 0.0
        self._jitter = 0.0
        self.window = 1_000_000
        self.max_bytes = 32_000_000
        self.exact = False
        self.bodies = True
        self.meter = Meter(Limits())

    def _seed(self, seed: int) -> None:
        """Outcomes and delays have numbers of their own, so that a latency changes no outcome."""
        self._chances, self._delays = random.Random(seed), random.Random(seed + 1)

    def apply(self, settings: Settings) -> None:
        """Change what the settings name."""
        with self._lock:
            if settings.reset:
                self._forget()
            self._queue.extend(settings.queue)
            self._rates = self._rates if settings.rates is None else settings.rates
            self._latency = self._latency if settings.latency is None else settings.latency
            self._jitter = self._jitter if settings.jitter is None else settings.jitter
            self.window = self.window if settings.window is None else settings.window
            self.max_bytes = self.max_bytes if settings.max_bytes is None else settings.max_bytes
            self.exact = self.exact if settings.exact is None else settings.exact
            self.bodies = self.bodies if settings.bodies is None else settings.bodies
            self.meter = self.meter if settings.limits is None else Meter(settings.limits)
            if settings.seed is not None:
                self._seed(settings.seed)

    def next(self, prompt: str) -> Behaviour:
        """Return what to do with a request; its `latency` is a number of seconds."""
        with self._lock:
            chance = self._chances.random()
            chosen = self._queued(prompt) or self._by_rate(prompt, chance) or Behaviour()
            return chosen.model_copy(update={"latency": self._delay(chosen.latency)})

    def _delay(self, latency: Latency | None) -> float:
        if latency is not None:
            return draw(latency, self._delays)
        return draw(self._latency, self._delays) + self._jitter * self._delays.random()

    def _queued(self, prompt: str) -> Behaviour | None:
        for at, behaviour in enumerate(self._queue):
            if behaviour.when in prompt:
                return self._queue.pop(at)
        return None

    def _by_rate(self, prompt: str, chance: float) -> Behaviour | None:
        for rate in self._rates:
            if rate.behaviour.when in prompt:
                if chance < rate.share:
                    return rate.behaviour
                chance -= rate.share
        return None

    def waiting(self) -> int:
        """Return how many queued behaviours no request has taken yet."""
        with self._lock:
            return len(self._queue)
