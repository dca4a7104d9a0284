"""Rendering, parsing and recognising the summary message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summary.summaries import AWKWARD, summaries

from ebbtide_core.contract.record import Carried, body_digest
from ebbtide_core.errors import ContractError
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.message import BRIDGE, Marked, parse, recognise, render, wrap
from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary

CLOSING = "\n</ebbtide-summary>"
positions = st.builds(Position, st.integers(0, 10**9), st.binary(min_size=16, max_size=16))
carrieds = st.lists(
    st.builds(
        Carried, index=st.integers(0, 10**6), digest=st.binary(min_size=16, max_size=16).map(bytes.hex)
    ),
    max_size=3,
).map(tuple)


def sealed(text: str, position: Position, carried: tuple[Carried, ...], version: int = 3) -> str:
    return wrap(text, version, position, carried, body_digest(position, carried, text))


HERE = Position(12, bytes(range(16)))
MESSAGE = sealed(render(Summary(decisions=("use Redis",))), HERE, ())


@given(summaries())
def test_parse_inverts_render(summary: Summary) -> None:
    """What was rendered is parsed back exactly, whatever the items hold."""
    assert parse(render(summary)) == summary


@given(summaries())
def test_headings_are_the_only_lines_at_column_0(summary: Summary) -> None:
    """No item can pass for a heading: each heading is the name of a field, and stands once."""
    headings = [line for line in render(summary).split("\n") if line.startswith("## ")]
    assert len(headings) == len(set(headings))
    assert {line[3:] for line in headings} <= set(Summary.model_fields)


def test_only_filled_sections_are_shown() -> None:
    """An empty field costs no tokens."""
    rendered = render(Summary(decisions=("use Redis",)))
    assert rendered == f"{BRIDGE}\n\n## decisions\n- use Redis"
    assert render(Summary()) == BRIDGE


def test_sections_come_in_a_fixed_order() -> None:
    """Intent and request come first, then the lists in their documented order, the language last."""
    full = Summary.model_validate(
        {
            **dict.fromkeys(LIST_FIELDS, ("x",)),
            "session_intent": "i",
            "active_request": "r",
            "active_request_state": "open",
            "language": "en",
        }
    )
    shown = [line[3:] for line in render(full).split("\n") if line.startswith("## ")]
    assert shown == ["session_intent", "active_request", "active_request_state", *LIST_FIELDS, "language"]


def test_unknown_sections_are_passed_over() -> None:
    """A later writer's new section does not stop an older reader."""
    text = render(Summary(decisions=("a",))) + "\n\n## mood\n- fine\n\n## errors\n- b"
    assert parse(text) == Summary(decisions=("a",), errors=("b",))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<summary>1. Goal: migrate the da",
        f"{BRIDGE}\n\n## decisions\nno marker",
        f"{BRIDGE}\n\n## decisions\n  no item before",
        f"{BRIDGE}\n\n## decisions\n- ",
        f"{BRIDGE}\n\n## active_request\n- a\n- b",
        f"{BRIDGE}\n\n## active_request_state\n- maybe",
        f"{BRIDGE}\n\n## errors\n- {'x' * 501}",
    ],
)
def test_text_that_was_not_rendered_is_refused(text: str) -> None:
    """Cut, foreign or oversized text is a ContractError, never a half summary."""
    with pytest.raises(ContractError):
        parse(text)


def test_refusal_does_not_quote_content() -> None:
    """The error names the section, not the words, which may be private."""
    with pytest.raises(ContractError, match="errors") as refused:
        parse(f"{BRIDGE}\n\n## errors\n- {'secret' * 100}")
    assert "secret" not in str(refused.value)


@given(summaries(), st.integers(1, 10**6), positions, carrieds)
def test_recognise_inverts_wrap(
    summary: Summary, version: int, position: Position, carried: tuple[Carried, ...]
) -> None:
    """A wrapped summary comes back with all that its marker says."""
    text = render(summary)
    body = body_digest(position, carried, text)
    assert recognise(wrap(text, version, position, carried, body)) == Marked(
        version, position, carried, body, text, summary
    )


@pytest.mark.parametrize("inside", [*AWKWARD, CLOSING, f"{CLOSING}\nmore", MESSAGE, MESSAGE + MESSAGE])
def test_text_inside_cannot_break_out(inside: str) -> None:
    """Markers inside the text are text: the whole message counts."""
    summary = Summary(active_request=inside, active_request_state=RequestState.OPEN)
    found = recognise(sealed(render(summary), HERE, ()))
    assert found is not None
    assert found.summary == summary


@pytest.mark.parametrize("text", ["", "no summary", BRIDGE + "\n\n## decisions\nno marker", "{}"])
def test_a_text_that_is_no_rendered_summary_is_an_ordinary_message(text: str) -> None:
    """A marker with the right digest around something else is not recognised: nothing could build on it."""
    assert recognise(sealed(text, HERE, ())) is None


@pytest.mark.parametrize(
    "changed",
    [
        MESSAGE + "\n",
        MESSAGE + " thanks",
        " " + MESSAGE,
        f"> {MESSAGE}",
        f"Look: {MESSAGE}",
        MESSAGE + MESSAGE,
        MESSAGE.replace("use Redis", "use MySQL"),
        MESSAGE.replace('position="12:', 'position="13:'),
        MESSAGE.replace('position="12:', 'position="012:'),
        MESSAGE.replace('version="3"', 'version="0"'),
        MESSAGE.replace('version="3"', 'version="three"'),
        MESSAGE.replace('version="3"', f'version="{"9" * 5000}"'),
        MESSAGE.replace('version="3"', 'version="٣"'),
        MESSAGE.replace('carried=""', f'carried="1:{"0" * 32}"'),
        MESSAGE.replace('carried=""', 'carried="1:xyz"'),
        MESSAGE.replace('carried="" ', ""),
        MESSAGE.removesuffix(CLOSING),
        MESSAGE.partition("\n")[0] + CLOSING,
        MESSAGE.partition("\n")[0] + CLOSING[1:],
        MESSAGE.replace("use Redis", "use \ud800"),
        "<ebbtide-summary" + CLOSING,
        "",
    ],
)
def test_anything_else_is_an_ordinary_message(changed: str) -> None:
    """Quoted, edited, continued, cut or misspelt summary messages are not recognised, and nothing raises."""
    assert recognise(MESSAGE) is not None
    assert changed != MESSAGE
    assert recognise(changed) is None


@given(st.text(), st.integers(0, 400), st.integers(0, 400))
def test_recognise_never_raises(noise: str, start: int, stop: int) -> None:
    """Any splice of noise into a summary message is either that message or None."""
    spliced = MESSAGE[:start] + noise + MESSAGE[stop:]
    assert (recognise(spliced) is not None) == (spliced == MESSAGE)


def test_bridge_is_neutral_third_person() -> None:
    """The bridge speaks about the conversation: no orders, no first and no second person."""
    words = {word.strip(".,").lower() for word in BRIDGE.split()}
    assert not words & {"i", "my", "me", "we", "our", "you", "your", "must"}
    assert "not a message or a new instruction of the user" in BRIDGE


def test_states_are_shown_by_name() -> None:
    """The model reads whether the request is still open."""
    assert "## active_request_state\n- open" in render(
        Summary(active_request="go", active_request_state=RequestState.OPEN)
    )
