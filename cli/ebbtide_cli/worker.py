"""`ebbtide worker`: one worker process, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.codec import named_codec
from ebbtide_cli.lookup import named_lookup
from ebbtide_cli.settings import ANTHROPIC, EXTRACTIVE, Settings

if TYPE_CHECKING:
    from ebbtide_worker.config import WorkerConfig

EPILOG: Final = (
    "Example:  EBBTIDE_STATE=redis://10.0.0.5:6379/0 ebbtide worker --concurrency 16 --metrics-port 9464"
)

RENEWED: Final = 1 / 3
"""A lease is renewed each time that this share of it has passed."""

LEAST_BEATS: Final = 6
"""Ticks in `liveness` at least: signs of life are looked for at each, a permit takes some to come round."""

ReadyFile = Annotated[
    Path | None,
    typer.Option("--ready-file", metavar="FILE", help="Write this file once jobs are taken (for probes)"),
]
MetricsPort = Annotated[
    int | None,
    typer.Option("--metrics-port", metavar="PORT", min=1, max=65_535, help="Serve Prometheus metrics here"),
]


def worker(
    state: options.State = None,
    broker: options.Broker = None,
    concurrency: options.Concurrency = None,
    summariser: options.SummariserName = None,
    model: options.SummariserModel = None,
    base_url: options.BaseUrl = None,
    running_lease: options.RunningLease = None,
    tick: options.Tick = None,
    grace: options.Grace = None,
    liveness: options.Liveness = None,
    health_host: options.HealthHost = None,
    health_port: options.HealthPort = None,
    map_per_job: options.MapPerJob = None,
    map_per_process: options.MapPerProcess = None,
    call_deadline: options.CallDeadline = None,
    tenant_cap: options.TenantCap = None,
    credentials: options.CredentialsName = None,
    codec: options.CodecName = None,
    metrics_port: MetricsPort = None,
    ready_file: ReadyFile = None,
    log_format: options.LogFormatName = None,
    log_level: options.LogLevelName = None,
) -> None:
    """Take compaction jobs of a pool, make summaries, publish them. SIGTERM ends it after its jobs or
    its grace, a second one at once. What is not done then goes back to the others.
    """
    serve_worker(
        Settings.read(
            state=state,
            broker=broker,
            concurrency=concurrency,
            summariser=summariser,
            model=model,
            base_url=base_url,
            running_lease=running_lease,
            tick=tick,
            grace=grace,
            liveness=liveness,
            health_host=health_host,
            health_port=health_port,
            map_per_job=map_per_job,
            map_per_process=map_per_process,
            call_deadline=call_deadline,
            tenant_cap=tenant_cap,
            credentials=credentials,
            codec=codec,
            log_format=log_format,
            log_level=log_level,
        ),
        metrics_port,
        ready_file,
    )


def serve_worker(settings: Settings, metrics_port: int | None, ready_file: Path | None) -> None:
    """Run a worker in this process until it is told to stop. Raises typer.Exit when it can't work."""
    from celery import signals

    from ebbtide_cli import log
    from ebbtide_core.budget.tokens import tokenizer
    from ebbtide_worker.app import create_app, serve

    log.set_up(settings.log_format, settings.log_level)
    tokenizer()  # loaded before the first job asks for it

    def keep_logging(**_: Any) -> None:
        """Leave logging as it is: a receiver here is Celery's way to be told so."""

    def ready(**_: Any) -> None:
        if ready_file is not None:
            ready_file.touch()

    signals.setup_logging.connect(keep_logging, weak=False)
    signals.worker_ready.connect(ready, weak=False)
    code = serve(create_app(worker_config(settings), _recorder(metrics_port)), "--without-heartbeat")
    if code:
        raise typer.Exit(code)


def worker_config(settings: Settings) -> WorkerConfig:
    """Return what a worker is told. Raises BadParameter for settings that contradict each other."""
    from ebbtide_worker.config import WorkerConfig

    _check_liveness(settings)
    state, broker = settings.urls
    return WorkerConfig(
        broker=broker,
        state=state,
        concurrency=settings.concurrency,
        summariser=chosen_summariser(settings),
        model=settings.model,
        base_url=settings.base_url,
        key_env=settings.key_env,
        running_lease=settings.running_lease,
        renew_every=RENEWED * settings.running_lease,
        tick=settings.tick,
        grace=settings.grace,
        liveness=settings.liveness,
        health_host=settings.health_host,
        health_port=settings.health_port,
        map_per_job=settings.map_per_job,
        map_per_process=settings.map_per_process,
        call_deadline=settings.call_deadline,
        tenant_cap=settings.tenant_cap,
        credentials=named_lookup(settings.credentials),
        codec=named_codec(settings.codec),
    )


def _check_liveness(settings: Settings) -> None:
    least = LEAST_BEATS * settings.tick
    if settings.health_port and settings.liveness < least:
        raise typer.BadParameter(
            f"--liveness or EBBTIDE_LIVENESS: with this tick a healthy worker would be taken for dead; give "
            f"at least {least:g} s, or a shorter --tick"
        )


def chosen_summariser(settings: Settings) -> str:
    """Return the summariser of jobs that name none: as set, else anthropic if its key is there, else
    extractive.

    Raises BadParameter, listing the known ones, for an unknown name.
    """
    from ebbtide_worker.summarisers.registry import known

    names = known()
    if settings.summariser and settings.summariser not in names:
        raise typer.BadParameter(
            f"--summariser or EBBTIDE_SUMMARISER: {settings.summariser!r} is none of {', '.join(names)}"
        )
    automatic = ANTHROPIC if settings.key_present and ANTHROPIC in names else EXTRACTIVE
    return settings.summariser or automatic


def _recorder(metrics_port: int | None) -> Any:
    """Return a Prometheus recorder, served on the port; None without one."""
    if metrics_port is None:
        return None
    from prometheus_client import start_http_server

    from ebbtide_monitoring.prometheus import PrometheusRecorder

    recorder = PrometheusRecorder()
    start_http_server(metrics_port)
    return recorder
