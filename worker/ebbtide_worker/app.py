"""The Celery app of a worker: one task, which spends a permit. Everything else happens in the runtime."""

from __future__ import annotations

from typing import Any, Final

from celery import Celery, bootsteps

from ebbtide_core.metrics import Recorder
from ebbtide_core.permits import QUEUE, TASK, broker_url
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.kombu_fix import apply_fix
from ebbtide_worker.runtime import Runtime

_SETTINGS: Final[dict[str, Any]] = {
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_ignore_result": True,
    "result_backend": None,
    "task_acks_late": False,
    "task_default_queue": QUEUE,
    "task_create_missing_queues": False,
    "worker_pool": "threads",
    "worker_prefetch_multiplier": 1,
    "worker_send_task_events": False,
    "worker_enable_remote_control": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_transport_options": {
        "priority_steps": [0],
        "health_check_interval": 10,
        "socket_timeout": 10,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
    },
}
"""A permit is acknowledged as soon as a thread takes it: jobs live in the ready index, not in messages.

What is cancelled at a lost connection are tasks acknowledged late, so none; saying so spares a warning.
"""


def create_app(config: WorkerConfig, recorder: Recorder | None = None) -> Celery:
    """Return the app. Run it with `serve`, or with Celery's own command and the options given there.

    Nothing connects before the worker starts. Raises InputError, at the start, for a wrong state URL.
    """
    apply_fix()
    app = Celery("ebbtide", broker=broker_url(config.broker), set_as_current=False)
    app.conf.update(_SETTINGS, worker_concurrency=config.concurrency)
    runtime = Runtime(config, recorder)

    @app.task(name=TASK, ignore_result=True)
    def work() -> None:
        """Spend a permit: take jobs until there are none."""
        runtime.work()

    app.steps["worker"].add(_step(runtime))
    return app


def serve(app: Celery, *arguments: str) -> None:
    """Run a worker in this process until it is told to stop (SIGTERM, SIGINT). More arguments as for Celery's
    worker.
    """
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


def _step(runtime: Runtime) -> type[bootsteps.StartStopStep]:
    """Return the part of the worker that starts the runtime after the pool, and stops it before the pool."""

    class RuntimeStep(bootsteps.StartStopStep):
        """Starts and stops the runtime with the worker."""

        requires = ("celery.worker.components:Pool",)

        def start(self, parent: Any) -> None:
            """Start it."""
            runtime.start()

        def stop(self, parent: Any) -> None:
            """Stop it: jobs get their grace."""
            runtime.stop()

        terminate = stop

    return RuntimeStep
