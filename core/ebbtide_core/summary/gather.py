"""A conversation read in order: what its messages say together, and how things stand at its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ebbtide_core.summary.caps import capped
from ebbtide_core.summary.extract import Findings, Speaker
from ebbtide_core.summary.files import distinct
from ebbtide_core.summary.identifiers import Ledger
from ebbtide_core.summary.model import RequestState, Summary
from ebbtide_core.summary.nudges import Nudge

_ABANDONED: Final = "abandoned call"


@dataclass(slots=True)
class _Story:
    """The fold over a conversation's findings; `open` holds calls without result by id, the nearest last."""

    intent: str = ""
    request: str = ""
    state: RequestState = RequestState.NONE
    rules: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    intentions: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    asked_user: tuple[str, ...] = ()
    asked_agent: list[str] = field(default_factory=list)
    open: dict[str, list[str]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def take(self, found: Findings) -> None:
        """Read one more message."""
        for call_id in found.answered:
            self._close(call_id)
        if found.speaker is Speaker.USER:
            self._hear(found)
        elif found.speaker is Speaker.ASSISTANT:
            self._follow(found)
        elif found.answered or found.says:
            self._go_on()
        self.rules += found.rules
        self.decisions += found.decisions
        self.completed += found.completed
        self.files += found.files
        self.errors += found.errors
        for voice, named in found.named:
            self.ledger.add(named, voice)

    def _close(self, call_id: str) -> None:
        """Pair a result with the nearest open call of its id."""
        nearest = self.open.get(call_id)
        if nearest:
            nearest.pop()

    def _go_on(self) -> None:
        self.state = RequestState.OPEN

    def _hear(self, found: Findings) -> None:
        self.asked_user = ()
        self.asked_agent += found.questions
        if found.request:
            self.intent = self.intent or found.request
            self.request = found.request
        if found.request or found.nudge is Nudge.GO_ON:
            self._go_on()

    def _follow(self, found: Findings) -> None:
        for call in found.calls:
            self.open.setdefault(call.call_id, []).append(call.description)
        if found.plan is not None:
            self.completed += found.plan.done
            self.planned = found.plan.open
        if not found.calls and not found.says:
            return
        self.intentions = found.intentions
        if found.calls or found.intentions:
            self._go_on()
        else:
            self._conclude(found)

    def _conclude(self, found: Findings) -> None:
        """An answer without calls ends the work on a request, unless it asks the user."""
        self.asked_agent = []
        self.asked_user = found.questions
        self.state = RequestState.OPEN if found.questions else RequestState.DONE
        if self.state is RequestState.DONE:
            self.planned = ()

    def summary(self) -> Summary:
        """Return the story so far as a summary."""
        files = distinct(self.files)
        return capped(
            {
                "user_constraints": self.rules,
                "decisions": self.decisions,
                "files_touched": files,
                "errors": self.errors,
                "identifiers": self.ledger.best(without=self.files),
                "open_obligations": [
                    f"{_ABANDONED} {call}" for calls in self.open.values() for call in calls
                ],
                "pending_questions": [
                    *self.asked_user,
                    *(q for q in self.asked_agent if q not in self.request),
                ],
                "completed": self.completed,
                "next_steps": [*self.planned, *self.intentions],
            },
            session_intent=self.intent,
            active_request=self.request,
            active_request_state=self.state,
        )


def gather(found: Iterable[Findings]) -> Summary:
    """Return the summary of a conversation's findings, given in order.

    The request is the latest one; it is done when the last answer neither calls a tool, nor announces more,
    nor asks the user. A part without any request still tells the state that the work has at its end. Calls
    without result are abandoned calls; next steps are the open steps of the latest plan and what the last
    answer announces.
    """
    story = _Story()
    for one in found:
        story.take(one)
    return story.summary()
