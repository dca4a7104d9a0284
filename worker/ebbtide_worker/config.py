"""Everything a worker process is told. Who reads flags and environment is the CLI's business."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ebbtide_core.policy import Policy
from ebbtide_core.store.codec import PLAIN, Codec
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS
from ebbtide_worker.credentials import Lookup

_POLICY: Final = Policy()

CALL_DEADLINE: Final = 120.0
"""Seconds after which a summariser's call is given up."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Settings of one worker process. Durations are seconds, and defaults are those of `Policy`.

    `broker` and `state` are URLs. `concurrency` jobs run side by side, with `map_per_job` calls each and
    `map_per_process` together. A job is asked about again (lease, guard) every `renew_every`, and before each
    paid call when the last answer is older than `ask_again`. `tenant_cap` is how many jobs of one tenant may
    run in the whole fleet. `store_timeout` bounds one wait for the store; a job bears an outage of
    `running_lease`. A stopping worker gives its jobs `grace` to end.

    A worker counts as dead when its loop stands still, or no permit comes, for `liveness`. Its health is
    served at `health_port` (0: nowhere) of `health_host`.

    A summariser's call is given up after `call_deadline`. Between calls about the same piece it waits at
    random up to `retry_base`, doubled with each call, at most `retry_cap`.

    `summariser` is used by jobs that name none, with `model` at `base_url` ("" : its own defaults). The
    secret itself is never here: `key_env` is the name of the environment variable that holds it, and
    `credentials` gives the secret of a tenant and a name, for hops whose credentials are `call:name`. `codec`
    encodes what is kept at rest; it is that of the hosts.
    """

    broker: str = field(repr=False)
    state: str = field(repr=False)
    concurrency: int = 16
    map_per_job: int = 8
    map_per_process: int = 32
    running_lease: float = _POLICY.running_lease
    renew_every: float = 10.0
    ask_again: float = 1.0
    tick: float = _POLICY.tick
    max_queue_age: float = _POLICY.max_queue_age
    job_deadline: float = _POLICY.job_deadline
    tenant_cap: int = 8
    max_attempts: int = MAX_ATTEMPTS
    breaker_failures: int = _POLICY.breaker_failures
    records_kept: int = _POLICY.records_kept
    state_ttl: float = _POLICY.state_ttl
    upload_ttl: float = _POLICY.upload_ttl
    store_timeout: float = 5.0
    grace: float = 20.0
    liveness: float = 60.0
    health_host: str = "127.0.0.1"
    health_port: int = 0
    call_deadline: float = CALL_DEADLINE
    retry_base: float = 0.5
    retry_cap: float = 8.0
    summariser: str = "extractive"
    model: str = ""
    base_url: str = ""
    key_env: str = ""
    credentials: Lookup | None = field(default=None, repr=False)
    codec: Codec = field(default=PLAIN, repr=False)

    @property
    def slots(self) -> int:
        """How many jobs run side by side: no more than can each have a call under way.

        Others would hold their leases only to wait for a call, while another process could serve them.
        """
        return min(self.concurrency, self.map_per_process)
