"""The shim: when it compacts, what it installs, tells and injects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ebbtide import mark
from ebbtide.harness import (
    CompactionError,
    CompactionReport,
    CompactionRequest,
    CompactionResult,
    CompactionShim,
    CompactionShimConfig,
    Compactor,
    DefaultCompactor,
    DefaultCompactorConfig,
    is_summary_item,
    render_summary_item,
)
from tests.harness.runs import PreparedTurn, bound, turn
from tests.harness.talk import Response, ScriptedModel, answered, assistant, text, user

LONG = [user(40), assistant(40), user(5)]
SUMMARY = render_summary_item(bridge="Go on.", summary_text="notes")
NEXT = [{"role": "user", "content": "next"}]


class Scripted:
    """A compactor that returns or raises what it is given, in turn; then the last again."""

    def __init__(self, *steps: CompactionResult | BaseException) -> None:
        self._steps = list(steps)
        self.requests: list[CompactionRequest] = []

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        self.requests.append(request)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, BaseException):
            raise step
        return step


def made(history: list[Any], **more: Any) -> CompactionResult:
    """A compactor's result."""
    return CompactionResult(
        **{
            "history": history,
            "summary_content": SUMMARY["content"],
            "dropped_items": (),
            "summarizer_response": None,
            **more,
        }
    )


def shim(
    compactor: Compactor, reports: list[CompactionReport] | None = None, **config: Any
) -> CompactionShim:
    """A shim that triggers at 50 tokens."""
    settings = {"context_window": 1_000, "trigger_tokens": 50, **config}
    return CompactionShim(
        CompactionShimConfig(**settings),
        compactor,
        on_compact=reports.append if reports is not None else None,
    )


async def test_below_the_trigger_nothing_happens() -> None:
    """No call, no report, the same history."""
    compactor, reports = Scripted(made([SUMMARY])), list[CompactionReport]()
    at = turn([user(46)], instructions="Be brief.")
    await (await bound(shim(compactor, reports), ScriptedModel())).prepare_turn(at)
    assert (compactor.requests, reports, at.run_state.history) == ([], [], [user(46)])
    at.run_state.history = [user(47)]
    await (await bound(shim(compactor, reports), ScriptedModel())).prepare_turn(at)
    assert (len(compactor.requests), len(reports), at.run_state.history) == (1, 1, [SUMMARY])


async def test_what_the_compactor_is_given() -> None:
    """The run as it stands, copies of history and arguments, the agent's model, reason auto."""
    compactor, model = Scripted(made(list(LONG))), ScriptedModel()
    at = turn(list(LONG), model_args={"temperature": 0})
    await (await bound(shim(compactor), model)).prepare_turn(at)
    (asked,) = compactor.requests
    assert (asked.instructions, asked.history, asked.reason) == ("Be brief.", tuple(LONG), "auto")
    assert (asked.model_args, asked.model) == ({"temperature": 0}, model)
    assert asked.model_args is not at.model_args
    assert (asked.signal.estimated_tokens, asked.signal.source) == (88, "estimate")


async def test_the_report_of_a_success() -> None:
    """All its figures."""
    response = answered("notes", (11, 3))
    compactor = Scripted(
        made([SUMMARY, LONG[-1]], dropped_items=tuple(LONG[:2]), summarizer_response=response)
    )
    reports: list[CompactionReport] = []
    await (await bound(shim(compactor, reports, name="mine"), ScriptedModel())).prepare_turn(turn(list(LONG)))
    (report,) = reports
    assert (report.compacted, report.error, report.reason) == (True, None, "auto")
    assert (report.items_before, report.items_after) == (3, 2)
    assert report.estimated_tokens_after == 3 + 5 + -(-len(SUMMARY["content"]) // 4)
    assert report.summary_chars == len(SUMMARY["content"])
    assert report.dropped_items == tuple(LONG[:2])
    assert report.summarizer_usage == (11, 3, 14)
    assert report.duration_seconds >= 0
    assert report.attempt_key == "mine:auto:turn=3:history=3:tokens=88"


async def test_a_no_op_is_reported_and_installs_nothing() -> None:
    """An equal history is no compaction."""
    reports: list[CompactionReport] = []
    at = turn(list(LONG))
    kept = at.run_state.history
    await (await bound(shim(Scripted(made(list(LONG))), reports), ScriptedModel())).prepare_turn(at)
    assert at.run_state.history is kept
    assert (reports[0].compacted, reports[0].items_after, reports[0].estimated_tokens_after) == (False, 3, 88)


@pytest.mark.parametrize("on_failure", ["inject", "skip"])
@pytest.mark.parametrize(
    ("step", "error"),
    [
        (CompactionError("summary\n  failed"), "summary\n  failed"),
        (OSError("no network"), "no network"),
        (made([Response(choices=[])]), "no choices"),
    ],
)
async def test_a_failure_changes_no_history(step: Any, error: str, on_failure: str) -> None:
    """Also when the result can't be rendered; `inject` tells the model once, `skip` never."""
    reports: list[CompactionReport] = []
    at = turn(list(LONG))
    agent = await bound(shim(Scripted(step), reports, on_failure=on_failure), ScriptedModel())
    await agent.prepare_turn(at)
    assert at.run_state.history == LONG
    assert (reports[0].compacted, reports[0].items_after, reports[0].summary_chars) == (False, 3, 0)
    assert error in (reports[0].error or "")
    request = await agent.transform_messages(at, NEXT)
    if on_failure == "skip":
        assert request is None
        return
    assert request is not None
    assert request[:-1] == NEXT
    assert request[-1]["role"] == "user"
    assert " ".join(error.split()) in request[-1]["content"]
    assert await agent.transform_messages(at, NEXT) is None
    assert at.run_state.history == LONG


async def test_two_shims_keep_their_notes_apart() -> None:
    """The note waits under the shim's name in the state that both share."""
    at = turn(list(LONG))
    first, second = [
        await bound(shim(Scripted(CompactionError(f"{name} failed")), name=name), ScriptedModel())
        for name in ("first", "second")
    ]
    await first.prepare_turn(at)
    await second.prepare_turn(at)
    request = await second.transform_messages(at, NEXT)
    assert request is not None
    assert len(request) == 2
    assert "second failed" in request[-1]["content"]


async def test_without_a_mapping_the_note_goes_into_the_history() -> None:
    """There is no other way to the model then."""
    at = turn(list(LONG), transient_state=SimpleNamespace(context=object()))
    agent = await bound(shim(Scripted(CompactionError("failed"))), ScriptedModel())
    await agent.prepare_turn(at)
    assert at.run_state.history[:-1] == LONG
    assert "failed" in at.run_state.history[-1]["content"]
    assert await agent.transform_messages(at, NEXT) is None


async def test_what_a_vain_call_cost_is_reported() -> None:
    """The usage of a summary that was refused is not lost."""
    reports: list[CompactionReport] = []
    model = ScriptedModel(answered("  ", (900, 0)))
    config = DefaultCompactorConfig(keep_recent_tokens=1, keep_recent_messages=1, summary_max_tokens=10)
    agent = await bound(shim(DefaultCompactor(config), reports), model)
    await agent.prepare_turn(turn(list(LONG)))
    assert reports[0].summarizer_usage == (900, 0, 900)
    assert "empty summary" in (reports[0].error or "")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("step", [made([SUMMARY]), CompactionError("failed")])
async def test_an_observer_s_error_changes_nothing(
    step: Any, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the compaction stands as it would have."""
    seen: list[CompactionReport] = []

    def observe(report: CompactionReport) -> None:
        seen.append(report)
        raise RuntimeError("observer down")

    async def observe_later(report: CompactionReport) -> None:
        observe(report)

    config = CompactionShimConfig(context_window=1_000, trigger_tokens=50)
    told = CompactionShim(config, Scripted(step), on_compact=observe_later if is_async else observe)
    at = turn(list(LONG))
    await (await bound(told, ScriptedModel())).prepare_turn(at)
    assert len(seen) == 1
    assert at.run_state.history == ([SUMMARY] if seen[0].compacted else LONG)
    assert "observer failed" in caplog.text


async def test_cancellation_is_not_a_failure() -> None:
    """It goes through, and nothing is reported or injected."""
    reports: list[CompactionReport] = []
    at = turn(list(LONG))
    agent = await bound(shim(Scripted(asyncio.CancelledError()), reports), ScriptedModel())
    with pytest.raises(asyncio.CancelledError):
        await agent.prepare_turn(at)
    assert reports == []
    assert await agent.transform_messages(at, NEXT) is None


async def test_a_history_that_can_not_be_rendered_is_the_runner_s_error() -> None:
    """The runner could not send it either, so it is not hidden as a failed compaction."""
    agent = await bound(shim(Scripted(made([]))), ScriptedModel())
    with pytest.raises(ValueError, match="no choices"):
        await agent.prepare_turn(turn([Response(choices=[])]))


async def test_a_compactor_that_keeps_failing_is_given_a_rest() -> None:
    """After three failures in a row it is tried again at the fifth turn, and after one more failure again."""
    compactor = Scripted(CompactionError("failed"))
    agent = await bound(shim(compactor), ScriptedModel())
    tried = []
    for _ in range(14):
        before = len(compactor.requests)
        await agent.prepare_turn(turn(list(LONG)))
        tried.append(len(compactor.requests) - before)
    assert tried == [1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]


async def test_a_success_ends_the_count_of_failures() -> None:
    """Only failures in a row bring the rest."""
    failed = CompactionError("failed")
    compactor = Scripted(failed, failed, made([SUMMARY]), failed, failed, made([SUMMARY]))
    agent = await bound(shim(compactor), ScriptedModel())
    for _ in range(6):
        await agent.prepare_turn(turn(list(LONG)))
    assert len(compactor.requests) == 6


async def test_the_rest_can_be_turned_off() -> None:
    """Then the compactor is called at each turn, as the reference does."""
    compactor = Scripted(CompactionError("failed"))
    agent = await bound(shim(compactor, failures_to_pause=None), ScriptedModel())
    for _ in range(9):
        await agent.prepare_turn(turn(list(LONG)))
    assert len(compactor.requests) == 9


async def test_without_a_compactor_the_default_one_runs() -> None:
    """With the agent's own model."""
    history = [user(4_000), assistant(40), user(4), assistant(4), user(4)]
    at, model = turn(list(history)), ScriptedModel("notes")
    config = CompactionShimConfig(context_window=100_000, trigger_tokens=50)
    await (await bound(CompactionShim(config), model)).prepare_turn(at)
    assert is_summary_item(at.run_state.history[0])
    assert at.run_state.history[1:] == history[1:]
    assert model.asked[0][1:] == [{"role": "system", "content": "Be brief."}, history[0]]


@pytest.mark.parametrize(
    ("task", "problem"), [(object(), "task with a model"), (SimpleNamespace(model=None), "configured model")]
)
async def test_binding_needs_a_model(task: Any, problem: str) -> None:
    """The error says what is missing."""
    with pytest.raises(TypeError, match=problem):
        await CompactionShim(CompactionShimConfig(context_window=10)).bind(SimpleNamespace(task=task))


async def test_marks_are_taken_off_the_request() -> None:
    """A provider would refuse the key; the history keeps it."""
    agent = await bound(shim(Scripted(made([]))), ScriptedModel())
    marked = mark(user(3), ephemeral=True)
    assert await agent.transform_messages(turn([]), [marked, user(4)]) == [user(3), user(4)]
    assert "ebbtide" in marked


def viewed(at: PreparedTurn, **more: Any) -> CompactionResult:
    """The result of a compactor that leaves the history and sends a view."""
    return replace(made(list(at.run_state.history), summary_content=""), view=[user(2, "view")], **more)


async def test_a_view_is_sent_once_and_never_installed() -> None:
    """It stands for the history, between the instructions and what other shims add."""
    at = turn(list(LONG))
    agent = await bound(shim(Scripted(viewed(at))), ScriptedModel())
    await agent.prepare_turn(at)
    whole = [{"role": "system", "content": "Be brief."}, *LONG, *NEXT]
    assert await agent.transform_messages(at, whole) == [whole[0], user(2, "view"), *NEXT]
    assert await agent.transform_messages(at, whole) is None
    assert at.run_state.history == LONG


async def test_a_view_gives_way_to_what_another_shim_sends(caplog: pytest.LogCaptureFixture) -> None:
    """A history changed by another shim goes out as it is, and that is logged."""
    at = turn(list(LONG))
    agent = await bound(shim(Scripted(viewed(at))), ScriptedModel())
    await agent.prepare_turn(at)
    changed: list[Mapping[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        user(1, text(1)),
        *LONG[1:],
    ]
    with caplog.at_level(logging.WARNING, "ebbtide.harness"):
        assert await agent.transform_messages(at, [dict(m) for m in changed]) == changed
    assert "another shim" in caplog.text


async def test_the_other_callbacks_of_a_runner_do_nothing() -> None:
    """A runner may make all of them."""
    agent = await bound(shim(Scripted(made([]))), ScriptedModel())
    await agent.on_run_start(None, None)
    await agent.on_model_response(turn([]), None)
    await agent.on_run_end(None, None)
    assert agent.inherit_tools(frozenset({"read"})) is None  # type: ignore[func-returns-value]
    assert agent.runner_hooks() == ()
