"""Settings: flags before environment before defaults; secrets stay hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest
import typer

from ebbtide_cli.settings import DEFAULT_URL, Settings, shown
from ebbtide_cli.worker import chosen_summariser, worker_config
from ebbtide_worker.config import WorkerConfig


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "STATE",
        "BROKER",
        "CONCURRENCY",
        "SUMMARISER",
        "MODEL",
        "KEY_ENV",
        "RUNNING_LEASE",
        "TICK",
        "GRACE",
        "LIVENESS",
        "HEALTH_HOST",
        "HEALTH_PORT",
        "MAP_PER_JOB",
        "MAP_PER_PROCESS",
        "CALL_DEADLINE",
        "TENANT_CAP",
        "CREDENTIALS",
        "CODEC",
    ):
        monkeypatch.delenv(f"EBBTIDE_{name}", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_a_flag_goes_before_the_environment_and_that_before_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A flag that was not given is None; an empty variable is none."""
    assert Settings.read(concurrency=None).concurrency == 16
    monkeypatch.setenv("EBBTIDE_CONCURRENCY", "3")
    monkeypatch.setenv("EBBTIDE_MODEL", "")
    assert Settings.read(concurrency=None).concurrency == 3
    assert Settings.read(concurrency=5).concurrency == 5
    assert Settings.read().model == ""


def test_a_wrong_value_names_flag_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever set it knows where to look; the value is not repeated."""
    monkeypatch.setenv("EBBTIDE_CONCURRENCY", "many-secrets")
    with pytest.raises(typer.BadParameter) as caught:
        Settings.read()
    assert "--concurrency or EBBTIDE_CONCURRENCY" in str(caught.value)
    assert "many-secrets" not in str(caught.value)


def test_one_url_stands_for_both() -> None:
    """Without a broker the state's server takes permits too; without any, this machine's does."""
    assert Settings.read(state="redis://a").urls == ("redis://a", "redis://a")
    assert Settings.read(broker="redis://b").urls == ("redis://b", "redis://b")
    assert Settings.read(state="redis://a", broker="amqp://b").urls == ("redis://a", "amqp://b")
    assert Settings.read().urls == (DEFAULT_URL, DEFAULT_URL)
    assert Settings.read().given_urls is None


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("redis://u:pass@h:1/0?x=1", "redis://u:***@h:1/0?x=1"),
        ("redis://:pass@h", "redis://:***@h"),
        ("redis://h:1", "redis://h:1"),
        ("redis://[", "a URL that can't be read"),
    ],
)
def test_passwords_are_not_shown(url: str, safe: str) -> None:
    """Neither in what people see nor in the settings' own text."""
    assert shown(url) == safe
    assert "pass" not in repr(Settings.read(state=url))


def test_a_worker_is_told_what_was_set() -> None:
    """Every setting that concerns a worker reaches its config."""
    config = worker_config(
        Settings.read(
            state="redis://a",
            broker="redis://b",
            concurrency=2,
            model="m",
            base_url="http://x",
            running_lease=6,
            tick=0.5,
            grace=0,
        )
    )
    assert (config.state, config.broker, config.concurrency) == ("redis://a", "redis://b", 2)
    assert (config.model, config.base_url, config.key_env) == ("m", "http://x", "ANTHROPIC_API_KEY")
    assert config.summariser == "extractive"
    assert (config.running_lease, config.renew_every, config.tick, config.grace) == (6, 2, 0.5, 0)


def test_every_limit_of_a_worker_can_be_set() -> None:
    """Under the same name, by flag or variable."""
    limits = {
        "liveness": 90.0,
        "health_host": "0.0.0.0",
        "health_port": 8081,
        "map_per_job": 3,
        "map_per_process": 5,
        "call_deadline": 7.0,
        "tenant_cap": 2,
    }
    config = worker_config(Settings.read(state="redis://a", **limits))
    assert {name: getattr(config, name) for name in limits} == limits
    assert config.slots == 5


def test_a_healthy_worker_can_not_be_taken_for_dead() -> None:
    """It looks for signs of life at each tick, so its health, where it is served, allows for some of them."""
    with pytest.raises(typer.BadParameter, match=r"--liveness or EBBTIDE_LIVENESS.* 120 s"):
        worker_config(Settings.read(tick=20, health_port=8081))
    assert worker_config(Settings.read(tick=20, health_port=8081, liveness=120)).liveness == 120
    assert worker_config(Settings.read(tick=20)).tick == 20


def secret_of(tenant: str, name: str) -> str:
    """What gives the tests' secrets."""
    return f"{name} of {tenant}"


def test_the_function_that_gives_secrets_is_named() -> None:
    """It is the very one, and nothing of it is in the config's text."""
    config = worker_config(Settings.read(credentials="tests.cli.test_settings:secret_of"))
    assert config.credentials is secret_of
    assert "secret_of" not in repr(config)


@pytest.mark.parametrize("name", ["no.such.module:x", "tests.cli", "json:nothing", "json:__name__", ":x"])
def test_what_gives_no_secrets_is_refused(name: str) -> None:
    """With the flag, the variable, and how to name one."""
    with pytest.raises(typer.BadParameter, match="--credentials or EBBTIDE_CREDENTIALS"):
        worker_config(Settings.read(credentials=name))


def test_a_worker_that_is_told_nothing_has_the_documented_defaults() -> None:
    """The command's own defaults are those of the worker."""
    told, plain = worker_config(Settings.read()), WorkerConfig(broker=DEFAULT_URL, state=DEFAULT_URL)
    assert replace(told, key_env="") == plain


def test_an_unknown_summariser_is_refused() -> None:
    """The known ones are listed."""
    assert chosen_summariser(Settings.read(summariser="extractive")) == "extractive"
    with pytest.raises(typer.BadParameter, match="extractive"):
        chosen_summariser(Settings.read(summariser="magic"))
