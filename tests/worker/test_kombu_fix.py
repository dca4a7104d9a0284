"""The fix of kombu: for one version, once, and loud when it is not applied."""

from __future__ import annotations

import pytest
from kombu.transport import redis

from ebbtide_worker import kombu_fix


def test_it_is_applied_once_for_its_version() -> None:
    """Applying it again changes nothing."""
    assert kombu_fix.apply_fix()
    once = redis.Channel._connparams  # type: ignore[attr-defined]
    assert kombu_fix.apply_fix()
    assert redis.Channel._connparams is once  # type: ignore[attr-defined]


def test_another_version_is_left_alone_and_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a version that it was not made for, nothing is changed, and the log says so."""
    monkeypatch.setattr(kombu_fix, "installed", lambda _: "5.8.0")

    assert not kombu_fix.apply_fix()
    assert "5.8.0" in caplog.text


def test_a_collected_transport_is_a_lost_connection() -> None:
    """A channel whose transport is gone raises what Celery expects of a lost connection."""
    kombu_fix.apply_fix()

    class Collected:
        connection = None

    with pytest.raises(ConnectionError):
        redis.Channel._connparams(Collected())  # type: ignore[attr-defined]
