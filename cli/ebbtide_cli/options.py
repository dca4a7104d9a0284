"""Flags that several commands share. A flag not given is None; `Settings` then looks at the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="URL",
        help="State store: redis://, rediss://, unix:// or redis+cluster:// [EBBTIDE_STATE]",
    ),
]
Broker = Annotated[
    str | None,
    typer.Option(
        "--broker",
        metavar="URL",
        help="Celery broker; the state store's server if not given [EBBTIDE_BROKER]",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency", "-c", metavar="N", help="Jobs that a worker does side by side [EBBTIDE_CONCURRENCY]"
    ),
]
SummariserName = Annotated[
    str | None,
    typer.Option("--summariser", metavar="NAME", help="extractive or anthropic [EBBTIDE_SUMMARISER]"),
]
SummariserModel = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The summariser's model [EBBTIDE_MODEL]"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Another endpoint for the summariser [EBBTIDE_BASE_URL]"),
]
RunningLease = Annotated[
    float | None,
    typer.Option(
        "--running-lease",
        metavar="SECONDS",
        help="A job outlives a worker that died by this long [EBBTIDE_RUNNING_LEASE]",
    ),
]
Tick = Annotated[
    float | None,
    typer.Option("--tick", metavar="SECONDS", help="Time between maintenance ticks [EBBTIDE_TICK]"),
]
Grace = Annotated[
    float | None,
    typer.Option(
        "--grace", metavar="SECONDS", help="A stopping worker gives its jobs this long [EBBTIDE_GRACE]"
    ),
]
Liveness = Annotated[
    float | None,
    typer.Option(
        "--liveness",
        metavar="SECONDS",
        help="A worker that gets no permit for so long counts as dead [EBBTIDE_LIVENESS]",
    ),
]
HealthHost = Annotated[
    str | None,
    typer.Option("--health-host", metavar="HOST", help="Address of that port [EBBTIDE_HEALTH_HOST]"),
]
HealthPort = Annotated[
    int | None,
    typer.Option(
        "--health-port", metavar="PORT", help="Port of a worker's GET /live and /ready [EBBTIDE_HEALTH_PORT]"
    ),
]
MapPerJob = Annotated[
    int | None,
    typer.Option(
        "--map-per-job", metavar="N", help="Calls that a job has side by side [EBBTIDE_MAP_PER_JOB]"
    ),
]
MapPerProcess = Annotated[
    int | None,
    typer.Option(
        "--map-per-process",
        metavar="N",
        help="Calls of all jobs, so also jobs at most [EBBTIDE_MAP_PER_PROCESS]",
    ),
]
CallDeadline = Annotated[
    float | None,
    typer.Option(
        "--call-deadline", metavar="SECONDS", help="A call may take this long [EBBTIDE_CALL_DEADLINE]"
    ),
]
TenantCap = Annotated[
    int | None,
    typer.Option(
        "--tenant-cap",
        metavar="N",
        help="Jobs of one tenant in the whole fleet, unless its policy says [EBBTIDE_TENANT_CAP]",
    ),
]
CredentialsName = Annotated[
    str | None,
    typer.Option(
        "--credentials",
        metavar="MODULE:FUNCTION",
        help="Gives the secret of a tenant and a name, for call:name [EBBTIDE_CREDENTIALS]",
    ),
]
CodecName = Annotated[
    str | None,
    typer.Option(
        "--codec",
        metavar="MODULE:OBJECT",
        help="Encodes what is kept at rest, as the hosts do [EBBTIDE_CODEC]",
    ),
]
LogFormatName = Annotated[
    str | None,
    typer.Option("--log-format", metavar="FORMAT", help="auto, json or console [EBBTIDE_LOG_FORMAT]"),
]
LogLevelName = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error [EBBTIDE_LOG_LEVEL]"),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write all figures as JSON; - for stdout"),
]
Pace = Annotated[float, typer.Option("--pace", metavar="SECONDS", min=0.0, help="Pause before each turn")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Show problems and the final totals only; with --json problems only"),
]
