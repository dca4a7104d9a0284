"""The wire contract: strict when written, tolerant when read, small, and as documented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from ebbtide_core.contract.job import After, Job, Urgency, job_id
from ebbtide_core.contract.record import Carried, SummariserName, SummaryRecord, body_digest
from ebbtide_core.contract.schema import schema, text
from ebbtide_core.errors import ContractError
from ebbtide_core.lineage.chain import Position, origin
from ebbtide_core.names import MAX_NAME_BYTES, Owner
from ebbtide_core.summary.model import Summary

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "contract.schema.json"
AT = Position(12, b"\x01" * 16)


def job(**fields: Any) -> Job:
    """A job with some fields of one's own."""
    known: dict[str, Any] = {
        "job_id": "a" * 32,
        "tenant": "acme",
        "session_id": "chat",
        "incarnation": "b" * 16,
        "generation": 3,
        "epoch": 7,
        "after": After(number=2, body="c" * 32),
        "base_version": 2,
        "position": AT,
        "manifest_id": "d" * 32,
        "urgency": Urgency.LO,
        "remaining_ms": 300_000,
    }
    return Job(**{**known, **fields})


def record(**fields: Any) -> SummaryRecord:
    """A record with some fields of one's own."""
    known: dict[str, Any] = {
        "version": 1,
        "incarnation": "b" * 16,
        "generation": 0,
        "base_version": 0,
        "base": origin("anthropic"),
        "position": AT,
        "summary": Summary(session_intent="migrate"),
        "text": "the text",
        "coverage": (),
        "summariser": SummariserName(name="extractive", fingerprint="f"),
        "source_tokens": 10,
        "summary_tokens": 5,
        "created_at": 1.5,
        "job_id": "a" * 32,
        "body": body_digest(AT, (), "the text"),
    }
    return SummaryRecord(**{**known, **fields})


@pytest.mark.parametrize("document", [job(), record(carried=(Carried(index=3, digest="e" * 32),))])
def test_a_document_comes_back_as_it_was_written(document: Job | SummaryRecord) -> None:
    """Writing and reading a document changes nothing."""
    assert type(document).from_json(document.to_json()) == document


def test_a_writer_may_not_add_fields() -> None:
    """An unknown field is an error where the document is made."""
    with pytest.raises(ValidationError, match="surprise"):
        job(surprise=1)


def test_a_reader_passes_over_fields_it_does_not_know() -> None:
    """A newer minor version may add fields, also inside nested documents."""
    told = json.loads(job().to_json())
    told["new_field"] = {"any": "thing"}
    told["after"]["new_field"] = 1
    assert Job.from_json(json.dumps(told)) == job()


@pytest.mark.parametrize("major", [0, 2, "1", None])
def test_another_major_version_is_refused(major: Any) -> None:
    """A document of another major version is not guessed at."""
    told = {**json.loads(job().to_json()), "major": major}
    with pytest.raises(ContractError, match="major"):
        Job.from_json(json.dumps(told))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"1", b'{"major":1}', b"[" * 100_000]
)
def test_a_damaged_document_is_a_contract_error(data: bytes) -> None:
    """Whatever stands under a key, reading it raises ContractError or gives a document."""
    with pytest.raises(ContractError):
        Job.from_json(data)


def test_an_error_names_fields_and_not_their_values() -> None:
    """Content never reaches a log through an error."""
    told = {**json.loads(job().to_json()), "tenant": {"secret": "hunter2"}}
    with pytest.raises(ContractError, match="tenant") as caught:
        Job.from_json(json.dumps(told))
    assert "hunter2" not in str(caught.value)


def test_a_job_stays_below_two_kilobytes_with_the_longest_names() -> None:
    """The index holds no content, and its jobs are small whatever the names."""
    name = "é" * (MAX_NAME_BYTES // 2)
    longest = job(
        tenant=name,
        session_id=name,
        incarnation="f" * 16,
        generation=2**31,
        epoch=2**31,
        trace={"traceparent": "0" * 55, "tracestate": "v" * 256},
    )
    assert len(longest.to_json()) < 2_000


def test_a_job_is_named_by_what_changes_its_summary() -> None:
    """The same session, position and policy give the same name; each of them changes it."""
    base = job_id(Owner("a", "b"), AT, "policy")
    others = [
        job_id(Owner("a:b", ""), AT, "policy"),
        job_id(Owner("", "a:b"), AT, "policy"),
        job_id(Owner("a", "b"), Position(13, AT.digest), "policy"),
        job_id(Owner("a", "b"), AT, "policy2"),
    ]
    assert job_id(Owner("a", "b"), AT, "policy") == base
    assert len({base, *others}) == 5


def test_a_body_digest_tells_text_position_and_carried_apart() -> None:
    """What a record says, what it stands for and what it carries all name its body."""
    carried = (Carried(index=3, digest="e" * 32),)
    bodies = {
        body_digest(AT, (), "text"),
        body_digest(AT, (), "text "),
        body_digest(AT, carried, "text"),
        body_digest(Position(13, AT.digest), (), "text"),
    }
    assert len(bodies) == 4
    assert record().body_fits()
    assert not record(text="another text").body_fits()


@pytest.mark.parametrize("wrong", ["", "1", "1:zz", "x:" + "0" * 32, "1:" + "0" * 30, "-1:" + "0" * 32])
def test_a_position_is_count_and_digest(wrong: str) -> None:
    """Anything else is no position."""
    assert Position.parse(str(AT)) == AT
    with pytest.raises(ValueError, match=r"position|hexadecimal"):
        Position.parse(wrong)


def test_the_kept_schema_is_the_contracts() -> None:
    """`docs/contract.schema.json` is what the models say; regenerate it when this fails."""
    assert SCHEMA.read_text() == text()


@pytest.mark.parametrize(("name", "document"), [("Job", job()), ("SummaryRecord", record())])
def test_documents_fit_the_schema(name: str, document: Job | SummaryRecord) -> None:
    """What is written is what the schema describes."""
    told = json.loads(document.to_json())
    del told["major"]
    jsonschema.validate(told, {**schema(), "$ref": f"#/$defs/{name}"})
