"""Logging of the command: every record of the standard library's logging, as JSON lines or for a console."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog
from structlog.typing import Processor

from ebbtide_cli.settings import LogFormat, LogLevel

FIELDS: Final = "ebbtide"
"""The attribute by which our log records carry their fields: `extra={"ebbtide": {…}}`."""


def set_up(fmt: LogFormat, level: LogLevel, stream: TextIO | None = None) -> None:
    """Send all log records of the process to a stream (stderr) in one format, replacing what was set up
    before."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(_formatter(fmt, target))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)


def _formatter(fmt: LogFormat, stream: TextIO) -> logging.Formatter:
    terminal = stream.isatty()
    console = fmt == "console" or (fmt == "auto" and terminal)
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _fields,
    ]
    ending: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=terminal)]
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
    )


def _fields(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Put the fields that a record carries beside its message; a field never replaces what is there."""
    record = event.get("_record")
    fields = getattr(record, FIELDS, None)
    if isinstance(fields, dict):
        for name, value in fields.items():
            event.setdefault(name, value)
    return event
