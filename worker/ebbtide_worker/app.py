"""The Celery app of a worker: one task, which spends a permit. Everything else happens in the runtime."""

from __future__ import annotations

from typing import Any, Final

from celery import Celery, bootsteps, signals

from ebbtide_core.metrics import Recorder
from ebbtide_core.permits import TASK, broker_settings, is_amqp
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.kombu_fix import apply_fix
from ebbtide_worker.runtime import Runtime

_SETTINGS: Final[dict[str, Any]] = {
    "result_backend": None,
    "task_acks_late": False,
    "worker_pool": "threads",
    "worker_consumer": "ebbtide_worker.consumer:PermitConsumer",
    "worker_prefetch_multiplier": 1,
    "worker_send_task_events": False,
    "worker_enable_remote_control": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_heartbeat": 10,
}
"""A permit is acknowledged as soon as a thread takes it: jobs live in the ready index, not in messages.

What is cancelled at a lost connection are tasks acknowledged late, so none; saying so spares a warning.
"""

_REDIS: Final[dict[str, Any]] = {
    "priority_steps": [0],
    "health_check_interval": 10,
    "socket_timeout": 10,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
}
_AMQP: Final[dict[str, Any]] = {"connect_timeout": 2}


def create_app(config: WorkerConfig, recorder: Recorder | None = None) -> Celery:
    """Return the app. Run it with `serve`, or with Celery's own command and the options given there.

    Nothing connects before the worker starts. Raises InputError for a broker URL that Celery can't use; a
    wrong state URL ends the worker when it starts.
    """
    apply_fix()
    app = Celery("ebbtide", set_as_current=False)
    app.conf.update(
        broker_settings(config.broker),
        **_SETTINGS,
        worker_concurrency=config.slots,
        broker_transport_options=dict(_AMQP if is_amqp(config.broker) else _REDIS),
    )
    runtime = Runtime(config, recorder)

    @app.task(name=TASK, ignore_result=True, shared=False)
    def work() -> None:
        """Spend a permit: take jobs until there are none."""
        runtime.work()

    app.steps["worker"].add(_step(runtime))
    return app


def serve(app: Celery, *arguments: str) -> int:
    """Run a worker in this process until it is told to stop (SIGTERM, SIGINT); told again, it gives its jobs
    no more time. More arguments as for Celery's worker.

    Returns the exit code: 0 after it was told to stop, 1 when it can't work, as with a broker that refuses
    its user. Celery logs why, and keeps the code to itself.
    """
    workers: list[Any] = []

    def begun(instance: Any, **_: Any) -> None:
        workers.append(instance)

    signals.celeryd_init.connect(begun, weak=False)
    app.worker_main(
        [
            "--quiet",
            "worker",
            "--pool=threads",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            *arguments,
        ]
    )
    signals.celeryd_init.disconnect(begun)
    return int(any(worker.exitcode for worker in workers))


def _step(runtime: Runtime) -> type[bootsteps.StartStopStep]:
    """Return the part of the worker that starts the runtime after the pool, and stops it before the pool.

    The runtime hears of a signal at once: Celery stops its parts only when its consumer has ended, for which
    a broker that is away may keep it waiting.
    """

    def told(**_: Any) -> None:
        runtime.ask_to_stop()

    class RuntimeStep(bootsteps.StartStopStep):
        """Starts and stops the runtime with the worker."""

        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            """Start it."""
            runtime.start()
            signals.worker_shutting_down.connect(told, weak=False)

        def stop(self, parent: Any) -> None:
            """Stop it: jobs get their grace."""
            runtime.stop()
            signals.worker_shutting_down.disconnect(told)

        terminate = stop

    return RuntimeStep
