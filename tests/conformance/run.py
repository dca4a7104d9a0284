"""Runs the reference's own compaction tests over Ebbtide's harness:  python tests/conformance/run.py

AgentLane 0.22.0 comes from its source distribution, checked against a pinned hash, into an environment of its
own below .cache; none of it is kept in this repository. It needs Python 3.12, and no other.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
GROUND: Final = ROOT / ".cache" / "conformance"
NAME: Final = "agentlane-0.22.0"
SHA256: Final = "1f6e4f9520719ed1bb819e26c1e94e5b3d48a1d8a3b2b3cfe99e0e0fd197fcf2"
SUITE: Final = ("test_compaction_interfaces.py", "test_compaction_shim.py", "test_default_compactor.py")
BESIDE: Final = ("__init__.py", "conftest.py", "tools_test_utils.py")
TESTS: Final = 64
NEEDED: Final = {"compactor": ("compact",), "shim": ("compact", "bind", "is_summary_item")}
"""What must have been called in each of the two runs."""

SKIPPED: Final = (
    "conformance: skipped, for there is no Python 3.12, the only one that AgentLane 0.22.0 runs on. Install "
    "it so that python3.12 is on PATH, or say where it is: make conformance PYTHON312=path"
)


class Failed(Exception):
    """The check could not be run, or did not pass; the message says why."""


def find_python(environment: Mapping[str, str]) -> str | None:
    """Return the interpreter to use, None when there is none. Raises Failed for one given and not 3.12."""
    given = environment.get("PYTHON312", "")
    python = given or shutil.which("python3.12", path=environment.get("PATH", ""))
    if not python:
        return None
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise Failed(f"{python} can't be run: {error}") from error
    if version.strip() == "3.12":
        return python
    if given:
        raise Failed(f"PYTHON312={given} is Python {version.strip() or 'of no known version'}, not 3.12")
    return None


def run(*command: str | Path) -> None:
    """Run a command. Raises Failed with what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def prepare(python: str) -> Path:
    """Return the interpreter of the environment, made on first use and whenever its ingredients change."""
    binary = GROUND / "venv" / "bin" / "python"
    stamp = GROUND / "ready"
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["project"]["dependencies"]
    made_of = json.dumps([python, SHA256, str(ROOT), needs])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return binary
    print(f"conformance: setting up {GROUND.relative_to(ROOT)} with {python}", flush=True)
    shutil.rmtree(GROUND, ignore_errors=True)
    GROUND.mkdir(parents=True)
    run(python, "-m", "venv", GROUND / "venv")
    archive = download(binary)
    run(binary, "-m", "pip", "install", "-q", archive, "pytest", "pytest-asyncio", "-e", ROOT)
    unpack(archive)
    stamp.write_text(made_of, encoding="utf-8")
    return binary


def download(binary: Path) -> Path:
    """Return the source distribution, whose hash is the pinned one."""
    wanted = GROUND / "wanted.txt"
    wanted.write_text(f"{NAME.replace('-', '==')} --hash=sha256:{SHA256}\n", encoding="utf-8")
    options = ("--no-deps", "--no-binary", "agentlane", "--require-hashes", "-r", wanted, "-d", GROUND)
    run(binary, "-m", "pip", "download", "-q", *options)
    archive = GROUND / f"{NAME}.tar.gz"
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise Failed(f"{archive} is not the pinned distribution")
    return archive


def unpack(archive: Path) -> None:
    """Unpack the suite's files, and nothing else."""
    with tarfile.open(archive) as tar:
        for name in (*SUITE, *BESIDE):
            member = tar.extractfile(f"{NAME}/tests/harness/{name}")
            if member is None:
                raise Failed(f"{archive} holds no {name}")
            place = GROUND / "suite" / "tests" / "harness" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(member.read())
    (GROUND / "suite" / "tests" / "__init__.py").touch()


def check(binary: Path, which: str) -> None:
    """Run the suite with one substitution, and print its counts. Raises Failed unless all tests passed."""
    report = GROUND / f"{which}.json"
    report.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "EBBTIDE_CONFORMANCE": which,
        "EBBTIDE_CONFORMANCE_REPORT": str(report),
    }
    suite = GROUND / "suite"
    command = [str(binary), "-m", "pytest", "-q", "-p", "substitute", "-p", "no:cacheprovider"]
    files = [str(suite / "tests" / "harness" / name) for name in SUITE]
    done = subprocess.run(
        [*command, "--rootdir", str(suite), "-c", os.devnull, *files],
        cwd=suite,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not report.exists():
        raise Failed(f"the suite did not run\n{done.stdout}{done.stderr}")
    counts: dict[str, int] = json.loads(report.read_text(encoding="utf-8"))
    calls = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if name != "passed")
    passed = counts.get("passed", 0)
    print(f"conformance with our {which}: {passed} of {TESTS} passed; calls: {calls}", flush=True)
    problem = wrong(which, counts)
    if problem or done.returncode != 0:
        raise Failed(f"{problem}\n{done.stdout}{done.stderr}")


def wrong(which: str, counts: Mapping[str, int]) -> str:
    """Return what the counts of a run show to be wrong, "" for nothing."""
    passed = counts.get("passed", 0)
    if passed != TESTS:
        return f"{passed} of {TESTS} tests passed"
    idle = [name for name in NEEDED[which] if not counts.get(name)]
    return f"our {', '.join(idle)} was never called, so nothing is shown" if idle else ""


def main(environment: Mapping[str, str]) -> int:
    """Return 0 when both runs passed, or there is nothing to run them with; else 1."""
    try:
        python = find_python(environment)
        if python is None:
            print(SKIPPED)
            return 0
        binary = prepare(python)
        for which in NEEDED:
            check(binary, which)
    except Failed as failure:
        print(f"conformance: failed: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
