"""The program as it is called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.processes
@pytest.mark.timeout(400)
def test_a_short_run_of_a_small_fleet_breaks_no_law(tmp_path: Path) -> None:
    """One server is away for a while, all laws are judged, and the figures are written."""
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "chaos", "--seconds", "12", "--hosts", "1", "--workers", "1"]
    done = subprocess.run(
        [*command, "--seed", "1", "--json", str(figures)],
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken" not in done.stdout
    written = json.loads(figures.read_text())
    assert (written["seed"], written["hosts"], written["broken"]) == (1, 1, {})
    assert written["figures"]["faults"] == {"store restarted": 1}
    assert written["figures"]["turns"] > 0
    assert written["figures"]["published"] > 0
    [folder] = [line for line in done.stdout.splitlines() if line.startswith("journals and logs: ")]
    assert not Path(folder.removeprefix("journals and logs: ")).exists()
