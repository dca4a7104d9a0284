"""Documents of a made-up older and newer minor version are read as what they say."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from chaos.minor import UNKNOWN, newer, older

from ebbtide_core.contract.base import Contract
from ebbtide_core.contract.record import Carried
from tests.core.test_contract import MANIFEST, job, record

DOCUMENTS = [MANIFEST, job(trace={"traceparent": "t"}), record(carried=(Carried(index=3, digest="e" * 32),))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
@pytest.mark.parametrize("write", [older, newer])
def test_a_reader_of_today_reads_what_another_minor_version_wrote(
    write: Callable[[Contract], bytes], document: Contract
) -> None:
    """What an older one leaves out is the default, what a newer one adds is passed over."""
    written = write(document)
    assert written != document.to_json()
    assert type(document).from_json(written) == document


def test_an_older_version_leaves_out_what_says_nothing() -> None:
    """Fields at their default, in documents within too."""
    told = json.loads(older(MANIFEST))
    assert "carried" not in told
    assert set(told["base_summary"]) == {"session_intent"}
    assert told["dialect"] == "anthropic"


def test_a_newer_version_adds_to_every_document_but_to_no_mapping() -> None:
    """Trace headers are no document."""
    told = json.loads(newer(job(trace={"traceparent": "t"})))
    assert UNKNOWN in told
    assert UNKNOWN in told["after"]
    assert told["trace"] == {"traceparent": "t"}
    assert all(UNKNOWN in segment for segment in json.loads(newer(MANIFEST))["segments"])
