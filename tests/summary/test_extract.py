"""What a conversation says: request, decisions, outcomes, obligations, questions, next steps."""

from __future__ import annotations

import pytest
from tests.summary.talk import call, message, result, talk, text

from ebbtide_core.summary.extract import Reader
from ebbtide_core.summary.extractive import extract
from ebbtide_core.summary.model import MAX_REQUEST_CHARS, RequestState, Summary

ASKED = ("user", "Add a login page.")
CALLS = ("assistant", call("t1", command="ls"))
ANSWER = ("user", result("t1"))


def test_intent_is_the_first_real_request() -> None:
    """A greeting is not what the session is for."""
    found = extract(talk(("user", "Hello!"), ("assistant", "Hi."), ASKED, ("user", "Make it blue.")))
    assert found.session_intent == "Add a login page."
    assert found.active_request == "Make it blue."


@pytest.mark.parametrize("nudge", ["continue", "Go on.", "Thanks!", "weiter", "продолжай", "继续", "はい"])
def test_nudges_are_no_requests(nudge: str) -> None:
    """Words that ask for nothing new leave the request as it is."""
    assert extract(talk(ASKED, CALLS, ANSWER, ("user", nudge))).active_request == "Add a login page."


def test_request_is_verbatim() -> None:
    """All that the user wrote is kept, with its lines and code."""
    asked = "Fix this:\n\n```py\nx = 1\n```\n  please"
    assert extract(talk(("user", asked))).active_request == asked


def test_request_over_the_cap_keeps_its_beginning() -> None:
    """A request too long for the summary is cut; the boundary keeps the message itself."""
    found = extract(talk(("user", "Do it. " + "x" * 9000))).active_request
    assert len(found) == MAX_REQUEST_CHARS
    assert found.startswith("Do it. x")


@pytest.mark.parametrize(
    ("then", "state"),
    [
        ([], RequestState.OPEN),
        ([CALLS], RequestState.OPEN),
        ([CALLS, ANSWER], RequestState.OPEN),
        ([CALLS, ANSWER, ("assistant", "The page is there.")], RequestState.DONE),
        ([("assistant", "I will now write the page.")], RequestState.OPEN),
        ([("assistant", "The page is there. Which colour?")], RequestState.OPEN),
        ([("assistant", "The page is there."), ("user", "thanks")], RequestState.DONE),
        ([("assistant", "The page is there."), ("user", "continue")], RequestState.OPEN),
        ([("assistant", "The page is there."), ("user", "Now a logout page.")], RequestState.OPEN),
    ],
)
def test_state_is_done_after_a_concluding_answer(then: list[tuple[str, str]], state: RequestState) -> None:
    """A request is done when the last answer calls nothing, announces nothing and asks nothing."""
    assert extract(talk(ASKED, *then)).active_request_state is state


def test_part_without_request_tells_how_the_work_stands() -> None:
    """A chunk without user words closes the request of the chunk before it."""
    first, second = extract(talk(ASKED, CALLS, ANSWER)), talk(("assistant", "The page is there."))
    assert extract(second).active_request_state is RequestState.DONE
    both = extract(second, base=first)
    assert (both.active_request, both.active_request_state) == ("Add a login page.", RequestState.DONE)


def test_nothing_said_gives_an_empty_summary() -> None:
    """No messages, empty ones and system messages say nothing."""
    assert extract([]) == Summary()
    assert (
        extract([message("user"), message("user", text("  ")), message("assistant"), message("tool")])
        == Summary()
    )
    assert extract(talk(("system", "You must obey."), ("developer", "Never fail."))) == Summary()


@pytest.mark.parametrize(
    "sentence",
    [
        "The root cause is a missing index.",
        "I decided to use Redis streams.",
        "It fails because the port is taken.",
        "Die Ursache ist ein fehlender Index.",
        "La cause est un index manquant.",
        "La causa es un índice que falta.",
        "Причина в пропущенном индексе.",
        "根本原因是缺少索引。",
        "原因はインデックスの欠落です。",
    ],
)
def test_decisions_and_findings_are_kept(sentence: str) -> None:
    """What the assistant decided or found out is kept verbatim, in each language."""
    assert extract(talk(ASKED, ("assistant", f"I looked at it. {sentence}"))).decisions == (sentence,)


@pytest.mark.parametrize(
    "sentence", ["Maybe the issue is the cache.", "Is the issue is the cache?", "The issue is:"]
)
def test_guesses_are_no_decisions(sentence: str) -> None:
    """Hedged sentences, questions and lead-ins decide nothing."""
    assert extract(talk(("assistant", sentence))).decisions == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "All tests pass.",
        "I've added the login page.",
        "Created `login.py`.",
        "Der Fehler ist behoben.",
        "La correction est terminée.",
        "Готово.",
        "登录页面已经完成。",
        "ログインページを追加しました。",
    ],
)
def test_finished_work_is_completed(sentence: str) -> None:
    """Reports of finished work are kept as completed."""
    assert extract(talk(ASKED, ("assistant", sentence))).completed == (sentence,)


@pytest.mark.parametrize(
    "sentence",
    [
        "The page is not done yet.",
        "I will get it done.",
        "It should be fixed.",
        "Maybe it is fixed.",
        "Done?",
    ],
)
def test_unfinished_work_is_not_completed(sentence: str) -> None:
    """Negations, plans, hopes and questions report nothing finished."""
    assert extract(talk(ASKED, ("assistant", sentence))).completed == ()


def test_only_the_latest_intentions_are_next() -> None:
    """A plan that was followed by other answers is no next step any more."""
    source = talk(
        ASKED, ("assistant", "I will read a.py."), CALLS, ANSWER, ("assistant", "Next I will write b.py.")
    )
    assert extract(source).next_steps == ("Next I will write b.py.",)


def test_calls_without_results_are_abandoned() -> None:
    """A call that nothing answers is listed with tool and arguments; results pair with the nearest call."""
    source = talk(
        ("assistant", call("t1", command="first")),
        ("user", result("t1")),
        ("assistant", call("t1", command="second")),
        ("user", "Stop, use the other host."),
        ("assistant", call("t1", command="third")),
        ("user", result("t1")),
        ("assistant", call("t2", "deploy", host="a" * 900)),
    )
    owed = extract(source).open_obligations
    assert owed[0] == 'abandoned call bash: {"command": "second"}'
    assert owed[1].startswith('abandoned call deploy: {"host": "aaa')
    assert len(owed) == 2
    assert len(owed[1]) <= 220


def test_unanswered_questions_are_pending() -> None:
    """A question to the user is pending until the user speaks, one to the agent until it answers."""
    asks = ("assistant", "I see two ways. Which one do you want?")
    assert extract(talk(ASKED, asks)).pending_questions == ("Which one do you want?",)
    assert extract(talk(ASKED, asks, ("user", "The first."))).pending_questions == ()
    waits = talk(("user", "Why is it slow?"), CALLS, ANSWER, ("user", "Look at b.py too."))
    assert extract(waits).pending_questions == ("Why is it slow?",)
    assert extract([*waits, *talk(("assistant", "It is slow without an index."))]).pending_questions == ()


def test_a_kept_plan_tells_done_from_open() -> None:
    """Steps of the agent's own plan are completed or next by their status; a concluding answer ends it."""
    steps = [
        {"content": "Read the code", "status": "completed"},
        {"content": "Write the page", "status": "in_progress"},
        {"content": "Test it", "status": "pending"},
        "broken",
        {"status": "pending"},
    ]
    source = talk(ASKED, ("assistant", call("t1", "TodoWrite", todos=steps)), ANSWER)
    found = extract(source)
    assert found.completed == ("Read the code",)
    assert found.next_steps == ("Write the page", "Test it")
    assert extract([*source, *talk(("assistant", "The page is there."))]).next_steps == ()


def test_output_of_a_text_only_loop_is_no_request() -> None:
    """Observations that a host sends as user messages are tool output: no request, but errors count."""
    output = "[File: /a/b.py (1 lines total)]\nImportError: no module x\n(Current directory: /a)\nbash-$"
    found = extract(talk(ASKED, ("assistant", "Let's look.\n```\nopen src/b.py 12\n```"), ("user", output)))
    assert found.active_request == "Add a login page."
    assert found.active_request_state is RequestState.OPEN
    assert found.errors == ("ImportError: no module x",)
    assert found.files_touched == ("src/b.py",)


def test_language_is_noted_and_kept() -> None:
    """The language that the policy names is noted; without one the base's stays."""
    base = extract(talk(ASKED), language="de")
    assert base.language == "de"
    assert extract([], base=base).language == "de"
    assert extract([], base=base, language="fr").language == "fr"


def test_a_reader_reads_a_message_once() -> None:
    """The same message gives the same findings, another one its own, even where both say the same."""
    first, second = talk(ASKED, ASKED)
    reader = Reader()
    assert reader(first) is reader(first)
    assert reader(second) is not reader(first)
    assert extract([first, second], reader=reader) == extract([first, second])
