"""Every setting of the command that an environment variable may give; flags override them."""

from __future__ import annotations

import os
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

import typer
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ebbtide_core.policy import Policy

PREFIX: Final = "EBBTIDE_"
DEFAULT_URL: Final = "redis://localhost:6379/0"
EXTRACTIVE: Final = "extractive"
ANTHROPIC: Final = "anthropic"
_POLICY: Final = Policy()

LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]


class Settings(BaseSettings):
    """Settings of one run. `read` takes flags first, then `EBBTIDE_*`, then the defaults below."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    state: str = Field(default="", repr=False, description="URL of the state store")
    broker: str = Field(default="", repr=False, description="URL of the Celery broker; empty: as state")
    concurrency: int = Field(default=16, ge=1, le=1_000, description="jobs that a worker does side by side")
    summariser: str = Field(default="", description="empty: anthropic when its key is set, else extractive")
    model: str = Field(default="", description="the summariser's model; empty: its own default")
    base_url: str = Field(default="", description="another endpoint for the summariser")
    key_env: str = Field(default="ANTHROPIC_API_KEY", description="variable that holds the summariser's key")
    running_lease: float = Field(
        default=_POLICY.running_lease, gt=0, description="seconds a job outlives a worker that died"
    )
    tick: float = Field(
        default=_POLICY.tick, gt=0, description="seconds between a worker's maintenance ticks"
    )
    grace: float = Field(
        default=20.0, ge=0, description="seconds a stopping worker gives its jobs, then it hands them back"
    )
    liveness: float = Field(
        default=60.0, gt=0, description="seconds without a permit after which a worker counts as dead"
    )
    health_host: str = Field(default="127.0.0.1", description="address at which a worker tells its health")
    health_port: int = Field(
        default=0, ge=0, le=65_535, description="port at which a worker tells its health; 0: nowhere"
    )
    map_per_job: int = Field(
        default=8, ge=1, le=1_000, description="calls of the summariser that a job has side by side"
    )
    map_per_process: int = Field(
        default=32, ge=1, le=10_000, description="calls of all jobs of a worker, so also its jobs at most"
    )
    call_deadline: float = Field(default=120.0, gt=0, description="seconds a call of the summariser may take")
    tenant_cap: int = Field(
        default=8, ge=1, description="jobs of one tenant in the whole fleet, unless its policy says"
    )
    credentials: str = Field(
        default="", description="module:function that gives the secret of a tenant and a name"
    )
    codec: str = Field(default="", description="module:object that encodes what is kept at rest")
    log_format: LogFormat = Field(default="auto", description="console on a terminal, else JSON lines")
    log_level: LogLevel = Field(default="info", description="least level that is logged")

    @classmethod
    def read(cls, **flags: Any) -> Self:
        """Return the settings; a flag that is None was not given. Raises BadParameter, naming flag and
        variable."""
        try:
            return cls(**{name: value for name, value in flags.items() if value is not None})
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)
            raise typer.BadParameter("; ".join(f"{_named(e['loc'])}: {e['msg']}" for e in wrong)) from None

    @property
    def given_urls(self) -> tuple[str, str] | None:
        """The URLs of state and broker, one standing for both, or None when neither is given."""
        if not self.state and not self.broker:
            return None
        return self.state or self.broker, self.broker or self.state

    @property
    def urls(self) -> tuple[str, str]:
        """The URLs of state and broker; a server on this machine when none is given."""
        return self.given_urls or (DEFAULT_URL, DEFAULT_URL)

    @property
    def key_present(self) -> bool:
        """Is the summariser's key in the environment? The key itself is never read here."""
        return bool(os.environ.get(self.key_env))


def _named(place: tuple[int | str, ...]) -> str:
    name = str(place[0]) if place else "settings"
    return f"--{name.replace('_', '-')} or {PREFIX}{name.upper()}"


def shown(url: str) -> str:
    """Return a URL without its password, for people and logs."""
    try:
        parts = urlsplit(url)
        if parts.password is None:
            return url
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{parts.username or ''}:***@{host}").geturl()
    except ValueError:
        return "a URL that can't be read"
