"""The shim: it looks before each turn whether to compact, and installs what the compactor made."""

from __future__ import annotations

import time
from typing import Any

from ebbtide.harness.bound import BoundCompactionShim
from ebbtide.harness.config import CompactionShimConfig
from ebbtide.harness.contract import Compactor
from ebbtide.harness.default import DefaultCompactor
from ebbtide.harness.estimate import TokenEstimator, estimate_message_tokens
from ebbtide.harness.report import OnCompact


class CompactionShim:
    """Compacts a run's history at a threshold. Without a compactor it uses the default one.

    `on_compact` is told of each attempt. Place it after shims that add history for the turn.
    """

    def __init__(
        self,
        config: CompactionShimConfig,
        compactor: Compactor | None = None,
        *,
        estimator: TokenEstimator = estimate_message_tokens,
        on_compact: OnCompact | None = None,
    ) -> None:
        self._config = config
        self._compactor = compactor if compactor is not None else DefaultCompactor()
        self._estimator = estimator
        self._on_compact = on_compact

    @property
    def name(self) -> str:
        """The prefix of reports and attempt keys."""
        return self._config.name

    @property
    def config(self) -> CompactionShimConfig:
        """The settings in force."""
        return self._config

    async def bind(self, context: Any) -> BoundCompactionShim:
        """Return the shim of one agent, whose model is `context.task.model`. Raises TypeError without one."""
        if not hasattr(context.task, "model"):
            raise TypeError("CompactionShim needs a task with a model: bind it to an agent that has one")
        if context.task.model is None:
            raise TypeError("CompactionShim needs a configured model: give the agent one")
        return BoundCompactionShim(
            config=self._config,
            compactor=self._compactor,
            estimator=self._estimator,
            model=context.task.model,
            on_compact=self._on_compact,
            clock=time.monotonic,
        )
