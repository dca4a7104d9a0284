"""The wire contract: strict when written, tolerant when read, small, and as documented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ebbtide_core.contract.job import MAX_TRACE_BYTES, After, Job, Urgency, job_id
from ebbtide_core.contract.manifest import Figures, Manifest, PolicyDocument, SegmentRef, manifest_name
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


MANIFEST = Manifest(
    dialect="anthropic",
    model="claude-sonnet-5-5",
    base=origin("anthropic"),
    base_version=0,
    base_summary=Summary(session_intent="migrate"),
    position=AT,
    segments=(SegmentRef(digest="d" * 32, first=0, stop=12),),
    tokens=(5, 7),
    exchanges=(0, 1),
    figures=Figures(
        window=8_000,
        soft=5_600,
        hard=7_600,
        projected=6_000,
        outside=100,
        tail=1_000,
        ratio=1.3,
        summary_max_tokens=800,
    ),
    policy=PolicyDocument(chunk_tokens=48_000, summary_max_tokens=800),
)


@pytest.mark.parametrize("document", [MANIFEST, job(), record(carried=(Carried(index=3, digest="e" * 32),))])
def test_a_document_comes_back_as_it_was_written(document: Job | SummaryRecord | Manifest) -> None:
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


@pytest.mark.parametrize("character", ['"', "\\"])
def test_names_that_json_escapes_keep_a_job_small_too(character: str) -> None:
    """The longest names of characters that take two bytes in JSON, with all the trace headers allowed."""
    name = character * MAX_NAME_BYTES
    headers = {"traceparent": "0" * 55, "tracestate": "v" * (MAX_TRACE_BYTES - 55 - 35)}
    assert len(job(tenant=name, session_id=name, trace=headers).to_json()) < 2_000
    with pytest.raises(ValidationError, match="trace headers"):
        job(trace={**headers, "baggage": "b" * 40})


other_json = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
    st.just("9" * 5_000 + ":" + "0" * 32),
    st.just([[]] * 3),
)


@given(st.sampled_from([job(), record(), MANIFEST]), st.data())
def test_any_other_value_in_a_field_is_a_contract_error_or_a_document(
    document: Job | SummaryRecord | Manifest, data: st.DataObject
) -> None:
    """No value makes reading fail in another way, and what was read can be written."""
    told = json.loads(document.to_json())
    name = data.draw(st.sampled_from(sorted(told)))
    told[name] = data.draw(other_json)
    try:
        found = type(document).from_json(json.dumps(told))
    except ContractError:
        return
    assert type(document).from_json(found.to_json()) == found


def test_a_manifest_is_named_by_its_content() -> None:
    """Whatever changes in it changes its name; as written and as read it is the same."""
    other = MANIFEST.model_copy(update={"tokens": (5, 8)})
    assert MANIFEST.name() == manifest_name(MANIFEST.to_json()) != other.name()
    assert Manifest.from_json(MANIFEST.to_json()).name() == MANIFEST.name()


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


@pytest.mark.parametrize(
    ("name", "document"), [("Job", job()), ("SummaryRecord", record()), ("Manifest", MANIFEST)]
)
def test_documents_fit_the_schema(name: str, document: Job | SummaryRecord | Manifest) -> None:
    """What is written is what the schema describes."""
    told = json.loads(document.to_json())
    del told["major"]
    jsonschema.validate(told, {**schema(), "$ref": f"#/$defs/{name}"})
