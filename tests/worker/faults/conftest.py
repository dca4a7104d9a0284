"""One scene for each test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.worker.faults.rehearsal import conversation, host_of
from tests.worker.faults.scene import Scene


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Server, stand-in and a worker that has loaded its SDK, for all rehearsals of this process."""
    with Scene(tmp_path_factory.mktemp("faults")) as scene:
        scene.do(host_of(scene, "first"), conversation())
        yield scene
