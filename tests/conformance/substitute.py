"""A pytest plugin that puts Ebbtide's harness in the place of the reference's, and counts what was called.

It runs in the suite's own environment (see `run.py`), which is why it stands alone. Environment:
EBBTIDE_CONFORMANCE is `compactor` or `shim`, EBBTIDE_CONFORMANCE_REPORT the file that gets the counts.
"""

from __future__ import annotations

import importlib
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ebbtide import harness

REFERENCE = importlib.import_module("agentlane.harness.compaction")
REFERENCE_SHIM = importlib.import_module("agentlane.harness.compaction._shim")
OURS = (
    "CompactionReport",
    "CompactionRequest",
    "CompactionResult",
    "CompactionShimConfig",
    "Compactor",
    "ContextSignal",
    "estimate_message_tokens",
    "is_summary_item",
    "render_request_messages",
    "render_summary_item",
)
"""What takes part under its own name when the shim is substituted."""

counts: Counter[str] = Counter()


class Compactor(harness.DefaultCompactor):
    """Our compactor; its errors are raised as the suite's own, which the tests catch."""

    async def compact(self, request: harness.CompactionRequest) -> harness.CompactionResult:
        counts["compact"] += 1
        try:
            return await super().compact(request)
        except harness.ContextOverflowError as error:
            raise REFERENCE.ContextOverflowError(str(error)) from error
        except harness.CompactionError as error:
            raise REFERENCE.CompactionError(str(error)) from error


class Shim(harness.CompactionShim):
    """Our shim as it is, with the compactor above when it is given none."""

    def __init__(self, config: Any, compactor: Any = None, **options: Any) -> None:
        super().__init__(config, compactor or Compactor(), **options)

    async def bind(self, context: Any) -> harness.BoundCompactionShim:
        counts["bind"] += 1
        return await super().bind(context)


def compactor_config(**settings: Any) -> harness.DefaultCompactorConfig:
    """Our settings with the suite's texts, whose wording one test asserts."""
    texts = {
        "prompt": REFERENCE.DEFAULT_COMPACTION_PROMPT,
        "summary_bridge": REFERENCE.DEFAULT_SUMMARY_BRIDGE,
    }
    return harness.DefaultCompactorConfig(**{**texts, **settings})


def counted(name: str) -> Callable[..., Any]:
    """Return our class of that name, or our function, whose calls are counted."""
    ours: Callable[..., Any] = getattr(harness, name)
    if isinstance(ours, type):
        return ours

    def call(*args: Any, **kwargs: Any) -> Any:
        counts[name] += 1
        return ours(*args, **kwargs)

    return call


def substitute(which: str) -> None:
    """Put ours in place."""
    for module in (REFERENCE, REFERENCE_SHIM):
        vars(module)["DefaultCompactor"] = Compactor
    if which == "shim":
        vars(REFERENCE)["CompactionShim"] = Shim
        vars(REFERENCE)["DefaultCompactorConfig"] = compactor_config
        vars(REFERENCE).update({name: counted(name) for name in OURS})


substitute(os.environ["EBBTIDE_CONFORMANCE"])


def pytest_runtest_logreport(report: Any) -> None:
    """Count how tests ended."""
    if report.when == "call" or report.failed:
        counts[report.outcome] += 1


def pytest_sessionfinish() -> None:
    """Write the counts."""
    Path(os.environ["EBBTIDE_CONFORMANCE_REPORT"]).write_text(json.dumps(counts), encoding="utf-8")
