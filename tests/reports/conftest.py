"""Hosts for the reports that need a whole turn."""

from __future__ import annotations

from tests.host.conftest import make_host, worker_store

__all__ = ["make_host", "worker_store"]
