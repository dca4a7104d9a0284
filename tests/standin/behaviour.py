"""What the stand-in does with a request, and how that is chosen."""

from __future__ import annotations

import random
import threading
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Kind(StrEnum):
    """How a request ends.

    `good`: a summary of what was shown. `status`: an error response. `stop`: another `stop_reason` than
    end_turn, with what usually comes with it. `prose`: an answer that is no JSON. `empty`: JSON of empty
    fields. `text`: the answer given in `text`. `null`: a message whose content is null and that has no
    usage. `html`: a page instead of JSON. `drop`: the connection is closed without a response. `cut`: closed
    in the middle of one. `hang`: no response for `seconds`, then the connection is closed.
    """

    GOOD = "good"
    STATUS = "status"
    STOP = "stop"
    PROSE = "prose"
    EMPTY = "empty"
    TEXT = "text"
    NULL = "null"
    HTML = "html"
    DROP = "drop"
    CUT = "cut"
    HANG = "hang"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Behaviour(_Document):
    """One way to treat a request.

    `when`: only requests whose prompt contains this. `latency`: seconds before the response, None for the
    setting. `status`: of `status` (default 500) and `html` (default 200). `error_code` and `retry_after`
    (seconds) go into an error. `stop_reason`: of `stop`. `fields` replace fields of a good summary.
    """

    kind: Kind = Kind.GOOD
    when: str = ""
    latency: float | None = Field(default=None, ge=0)
    status: int | None = Field(default=None, ge=200, le=599)
    error_code: str = ""
    retry_after: float | None = Field(default=None, ge=0)
    stop_reason: str = "max_tokens"
    text: str = ""
    fields: dict[str, Any] = Field(default_factory=dict)
    seconds: float = Field(default=600.0, ge=0)


class Rate(_Document):
    """A behaviour for a share (0 to 1) of the requests that fit its `when`; 1 means each of them."""

    share: float = Field(ge=0, le=1)
    behaviour: Behaviour


class Settings(_Document):
    """What `POST /control` takes; what is left out stays as it is.

    `reset` forgets everything first, the request log too. `queue` is added to what is queued: each behaviour
    serves one request. `rates` decide when nothing queued fits; `seed` starts their random numbers anew.
    `latency` and `jitter`: seconds before each response, and the most that is added at random. `window`:
    prompts of more tokens are rejected.
    """

    reset: bool = False
    queue: tuple[Behaviour, ...] = ()
    rates: tuple[Rate, ...] | None = None
    seed: int | None = None
    latency: float | None = Field(default=None, ge=0)
    jitter: float | None = Field(default=None, ge=0)
    window: int | None = Field(default=None, gt=0)


class Script:
    """Chooses a behaviour for each request, in the order of their arrival; safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._queue: list[Behaviour] = []
        self._rates: tuple[Rate, ...] = ()
        self._random = random.Random(0)
        self._latency = 0.0
        self._jitter = 0.0
        self.window = 1_000_000

    def apply(self, settings: Settings) -> None:
        """Change what the settings name."""
        with self._lock:
            if settings.reset:
                self._forget()
            self._queue.extend(settings.queue)
            self._rates = self._rates if settings.rates is None else settings.rates
            self._random = self._random if settings.seed is None else random.Random(settings.seed)
            self._latency = self._latency if settings.latency is None else settings.latency
            self._jitter = self._jitter if settings.jitter is None else settings.jitter
            self.window = self.window if settings.window is None else settings.window

    def next(self, prompt: str) -> Behaviour:
        """Return what to do with a request; its `latency` is set."""
        with self._lock:
            chance, delay = self._random.random(), self._jitter * self._random.random()
            chosen = self._queued(prompt) or self._by_rate(prompt, chance) or Behaviour()
            if chosen.latency is None:
                return chosen.model_copy(update={"latency": self._latency + delay})
            return chosen

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
