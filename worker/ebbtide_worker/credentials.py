"""Secrets by reference: where a hop's key is found, read anew for each call and kept nowhere here."""

from __future__ import annotations

import os
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

Lookup = Callable[[str, str], str]
"""Gives the secret of a tenant and a name. Called in a thread, for each call of a summariser."""

_MAX_BYTES: Final = 16_384
_THREADS: Final = 32
"""Look-ups have threads of their own: where one hangs, all else that a worker does in threads goes on."""


class Credentials:
    """Finds secrets: `env:NAME`, `file:/path`, or `call:name`, which asks `lookup(tenant, name)`.

    Whatever is changed there, the next call uses it: keys rotate without a restart.
    """

    def __init__(self, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ebbtide-key")

    async def secret(self, reference: str, tenant: str) -> str:
        """Return the secret, blanks around it taken off.

        Raises SummariserFault (AUTH) when there is none, or none that a header could hold. It names the
        reference, and nothing of what was found.
        """
        scheme, _, name = reference.partition(":")
        if scheme not in ("env", "file", "call") or not name:
            raise SummariserFault(FaultKind.AUTH, "credentials are env:NAME, file:/path or call:name")
        found = os.environ.get(name, "") if scheme == "env" else await self._read(scheme, name, tenant)
        return _checked(found, reference)

    async def _read(self, scheme: str, name: str, tenant: str) -> str:
        loop = get_running_loop()
        try:
            if scheme == "file":
                return await loop.run_in_executor(self._threads, _text, Path(name))
            if self._lookup is not None:
                return await loop.run_in_executor(self._threads, self._lookup, tenant, name)
            told = "no callable is configured (EBBTIDE_CREDENTIALS)"
        except Exception as error:  # noqa: BLE001  whatever it is, its text may hold the secret
            told = type(error).__name__
        raise SummariserFault(FaultKind.AUTH, f"{scheme}:{name} can't be read: {told}")


def _text(path: Path) -> str:
    with path.open(encoding="ascii") as file:
        return file.read(_MAX_BYTES)


def _checked(found: object, reference: str) -> str:
    """Return what was found as a key; a callable may give anything."""
    key = found.strip() if isinstance(found, str) else ""
    if not key:
        raise SummariserFault(FaultKind.AUTH, f"{reference} holds no key: set it for the workers")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SummariserFault(FaultKind.AUTH, f"{reference} holds characters that no key has: set it anew")
    return key
