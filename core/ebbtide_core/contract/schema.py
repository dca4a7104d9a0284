"""The JSON Schema of the wire contract: `python -m ebbtide_core.contract.schema` prints it."""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import Manifest
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.names import CONTRACT_MAJOR

DOCUMENTS = (Job, Manifest, SummaryRecord, RecordHeader, ReviewEntry)
"""What crosses a process border."""


def schema() -> dict[str, Any]:
    """Return one schema with a definition for each document and what they are made of.

    Each document also carries `major`, the contract's major version; a reader ignores fields it doesn't know.
    """
    _, definitions = models_json_schema(
        [(model, "serialization") for model in DOCUMENTS], ref_template="#/$defs/{model}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Ebbtide contract, major {CONTRACT_MAJOR}",
        "$defs": definitions["$defs"],
    }


def text() -> str:
    """Return the schema as it is kept in `docs/contract.schema.json`."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
