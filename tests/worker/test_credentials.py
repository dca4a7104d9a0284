"""Secrets by reference: found for each call, kept by nobody, shown nowhere."""

from __future__ import annotations

import asyncio
import threading
import traceback
from pathlib import Path

import pytest

from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.credentials import Credentials
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

SECRET = "sk-ant-secret-1"


async def refused(credentials: Credentials, reference: str, tenant: str = "acme") -> str:
    """Return the words of the fault that a reference ends in, all of them."""
    with pytest.raises(SummariserFault) as caught:
        await credentials.secret(reference, tenant)
    found = caught.value
    assert (found.kind, found.usage.calls) == (FaultKind.AUTH, 0)
    return "".join(traceback.format_exception(found)) + repr(vars(found)) + repr(credentials)


async def test_a_variable_is_read_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in it now is used, blanks around it taken off."""
    credentials = Credentials()
    for value in (SECRET, f" {SECRET}2\n"):
        monkeypatch.setenv("EBBTIDE_TEST_KEY", value)
        assert await credentials.secret("env:EBBTIDE_TEST_KEY", "acme") == value.strip()
    monkeypatch.delenv("EBBTIDE_TEST_KEY")
    assert "env:EBBTIDE_TEST_KEY holds no key" in await refused(credentials, "env:EBBTIDE_TEST_KEY")


async def test_a_file_is_read_for_each_call(tmp_path: Path) -> None:
    """A key that is replaced there serves the next call, without a restart."""
    credentials, file = Credentials(), tmp_path / "key"
    for value in (SECRET, f"{SECRET}2"):
        file.write_text(f"{value}\n")
        assert await credentials.secret(f"file:{file}", "acme") == value
    file.unlink()
    assert "can't be read: FileNotFoundError" in await refused(credentials, f"file:{file}")


async def test_a_callable_is_asked_with_tenant_and_name() -> None:
    """Each tenant's own."""
    credentials = Credentials(lambda tenant, name: f"{SECRET}-{tenant}-{name}")
    assert await credentials.secret("call:main", "acme") == f"{SECRET}-acme-main"
    assert await credentials.secret("call:main", "rival") == f"{SECRET}-rival-main"


async def test_a_callable_that_fails_says_nothing_of_what_it_holds() -> None:
    """Its error may quote the secret; only its type is told. Without a callable the setting is named."""

    def failing(tenant: str, name: str) -> str:
        raise ValueError(SECRET)

    told = await refused(Credentials(failing), "call:main")
    assert "call:main can't be read: ValueError" in told
    assert SECRET not in told
    assert "EBBTIDE_CREDENTIALS" in await refused(Credentials(), "call:main")
    assert "holds no key" in await refused(Credentials(lambda *_: None), "call:main")  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", ["", SECRET, f"key:{SECRET}", "env:", "file", "call:"])
async def test_what_is_no_reference_is_not_repeated(reference: str) -> None:
    """It may be a key that somebody put in its place."""
    told = await refused(Credentials(), reference)
    assert "env:NAME, file:/path or call:name" in told
    assert SECRET not in told


@pytest.mark.parametrize("value", ["", "  \n", "sk-ant-first\nsecond", "sk-ant two"])
async def test_what_no_header_could_hold_is_no_key(tmp_path: Path, value: str) -> None:
    """It is refused before a call, and not shown."""
    (tmp_path / "key").write_text(value)
    told = await refused(Credentials(), f"file:{tmp_path / 'key'}")
    assert "sk-ant" not in told


async def test_a_file_that_is_no_text_is_no_key(tmp_path: Path) -> None:
    """Bytes of any kind are a fault, none of them told."""
    (tmp_path / "key").write_bytes(b"sk-ant-\xff\xfe")
    assert "sk-ant" not in await refused(Credentials(), f"file:{tmp_path / 'key'}")


def test_a_configuration_shows_no_callable() -> None:
    """Its repr may stand in a log."""

    def lookup(tenant: str, name: str) -> str:
        return SECRET

    assert "lookup" not in repr(WorkerConfig("u://", "u://", credentials=lookup))


async def test_lookups_that_hang_hold_up_nothing_else() -> None:
    """Whoever gives the keys may be away: all else that the worker does in threads goes on."""
    release = threading.Event()

    def hang(tenant: str, name: str) -> str:
        release.wait(30)
        return "k"

    credentials = Credentials(hang)
    hanging = [asyncio.create_task(credentials.secret("call:key", "acme")) for _ in range(40)]
    try:
        await asyncio.sleep(0)
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "planned"), 5) == "planned"
    finally:
        release.set()
        assert set(await asyncio.gather(*hanging)) == {"k"}
