"""Fixtures: one ground for the tests of a file, whole again at the begin of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes.ground import Ground


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A ground for the tests of one file."""
    with Ground(tmp_path_factory.mktemp("ground")) as ground:
        yield ground


@pytest.fixture
def ground(shared: Ground) -> Ground:
    """The file's ground, whole and empty: workers that an earlier test ended are replaced."""
    shared.data.flushall()
    shared.renew()
    return shared
