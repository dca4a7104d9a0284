"""Memory of one extractive job, in a process of its own: `python -m bench.extractive.memory FILE [trace]`."""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Final

from bench.extractive.job import Shelf, made
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Job

MIB: Final = 1 << 20


def memory(job: Job, shelf: Shelf) -> dict[str, float]:
    """Return MiB of a fresh process that does one job.

    `before`: its peak with worker and tokenizer loaded; `peak`: its peak after the job; `held`: the most that
    Python objects of the job took at one time.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job"
        path.write_bytes(pickle.dumps((job.to_json(), shelf.values)))
        command = [sys.executable, "-m", "bench.extractive.memory", str(path)]
        resident, traced = (_asked([*command, *more]) for more in ([], ["trace"]))
    return {**resident, "held": traced["held"]}


def _asked(command: list[str]) -> dict[str, float]:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(path: str, *, trace: bool) -> None:
    """Do the job in a file and print what it took."""
    document, values = pickle.loads(Path(path).read_bytes())
    job, shelf = Job.from_json(document), Shelf(values)
    tokenizer()
    before = _peak()
    if trace:
        tracemalloc.start()
    made(job, shelf)
    held = tracemalloc.get_traced_memory()[1] if trace else 0
    print(json.dumps({"before": before, "peak": _peak(), "held": held / MIB}))


def _peak() -> float:
    """Return the most memory that this program has had resident, in MiB.

    Linux keeps getrusage's figure over exec, so there it would be that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (MIB if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(sys.argv[1], trace="trace" in sys.argv[2:])
