"""Log records: JSON lines or a console, with the fields that our records carry."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from ebbtide_cli import log
from ebbtide_cli.settings import LogFormat, LogLevel


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    logging.captureWarnings(False)


def written(fmt: LogFormat, level: LogLevel = "info") -> list[str]:
    """Log some records and return the lines."""
    stream = io.StringIO()
    log.set_up(fmt, level, stream)
    logger = logging.getLogger("ebbtide.test")
    logger.debug("too fine")
    logger.info("turn %s", "prepared", extra={"ebbtide": {"session": "s", "level": "mine", "tokens": 7}})
    logging.getLogger("celery").warning("foreign")
    return stream.getvalue().splitlines()


def test_json_lines_hold_message_and_fields() -> None:
    """Fields stand beside the message and never replace what is there."""
    ours, foreign = map(json.loads, written("json"))
    assert (ours["event"], ours["session"], ours["tokens"]) == ("turn prepared", "s", 7)
    assert (ours["level"], ours["logger"]) == ("info", "ebbtide.test")
    assert (foreign["event"], foreign["level"]) == ("foreign", "warning")


def test_a_stream_that_is_no_terminal_gets_json() -> None:
    """Unless the console form is asked for."""
    assert all(line.startswith("{") for line in written("auto"))
    first = written("console")[0]
    assert "turn prepared" in first
    assert "tokens=7" in first


def test_the_level_bounds_what_is_written() -> None:
    """Below it nothing is."""
    assert len(written("json", "warning")) == 1


def test_an_exception_keeps_the_record_one_line() -> None:
    """Its traceback is a field."""
    stream = io.StringIO()
    log.set_up("json", "info", stream)
    try:
        raise ValueError("broken\nin two lines")
    except ValueError:
        logging.getLogger("ebbtide.test").exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError" in json.loads(line)["exception"]
