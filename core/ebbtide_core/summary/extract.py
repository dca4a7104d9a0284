"""What one message says, found by rules alone: the same answer each time, in time linear in its length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.jsonio import well_formed
from ebbtide_core.summary import cues
from ebbtide_core.summary.caps import best
from ebbtide_core.summary.failures import failures
from ebbtide_core.summary.files import in_command, touched
from ebbtide_core.summary.identifiers import Identifier, Lexicon, Voice
from ebbtide_core.summary.nudges import Nudge, nudge
from ebbtide_core.summary.plans import Plan, plan
from ebbtide_core.summary.source import SourceMessage, strings
from ebbtide_core.summary.speech import Sentence, fenced, is_output, sentences, unwrapped
from ebbtide_core.summary.text import clipped

MAX_CALL_CHARS: Final = 200
MAX_RULES: Final = 50
MAX_SENTENCES: Final = 4
"""Rules taken of one message, and sentences of each other kind."""

_MAX_VALUE_CHARS: Final = 2_000


class Speaker(StrEnum):
    """Whose words or outputs a message holds; the host's are system and developer messages."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Call:
    """A call by its id, and a description of it: the tool's name and the beginning of its arguments."""

    call_id: str
    description: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What one message says. Texts are verbatim.

    `request`: all that a user asks, "" when the words ask for nothing new (see `nudge`) or there are none.
    `rules`, `decisions`, `completed`, `intentions`, `questions`: sentences. `files`: paths of calls.
    `errors`: lines of results. `named`: identifiers by voice. `answered`: ids of the calls whose results
    are here. `says`: there are words of the speaker.
    """

    speaker: Speaker
    says: bool = False
    request: str = ""
    nudge: Nudge | None = None
    rules: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    intentions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    named: tuple[tuple[Voice, tuple[Identifier, ...]], ...] = ()
    calls: tuple[Call, ...] = ()
    answered: tuple[str, ...] = ()
    plan: Plan | None = None


class Reader:
    """Reads messages, each of them once: asked for the same object again, it returns what it found."""

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._found: dict[int, tuple[SourceMessage, Findings]] = {}

    def __call__(self, message: SourceMessage) -> Findings:
        """Return what a message says. System and developer messages say nothing here."""
        known = self._found.get(id(message))
        if known is None:
            known = self._found[id(message)] = (message, _findings(message, self._lexicon))
        return known[1]


def _findings(message: SourceMessage, lexicon: Lexicon) -> Findings:
    if message.role in ("system", "developer"):
        return Findings(Speaker.HOST)
    if message.role == "assistant":
        return _assistant(message, lexicon)
    return _user(message, lexicon) if message.role == "user" else _results(message, lexicon)


def _text(message: SourceMessage) -> str:
    return well_formed("\n".join(block.text for block in message.of_kind(BlockKind.TEXT)))


def _chosen(
    field: str, said: Sequence[Sentence], test: Callable[[Sentence], object], limit: int = MAX_SENTENCES
) -> tuple[str, ...]:
    """Return the sentences that pass; of more than `limit` those most worth keeping in the list `field`."""
    return best(field, tuple([sentence.text for sentence in said if test(sentence)]), limit)


def _asks(sentence: Sentence) -> bool:
    return sentence.asks


class _Output(NamedTuple):
    """What results say: errors, identifiers, and the ids of the calls that they answer."""

    errors: tuple[str, ...]
    named: tuple[tuple[Voice, tuple[Identifier, ...]], ...]
    answered: tuple[str, ...]


def _output(message: SourceMessage, lexicon: Lexicon, *told: str) -> _Output:
    """Return what a message's results say, and outputs that its text tells; documents and the provider's own
    doings give identifiers."""
    results = message.of_kind(BlockKind.RESULT)
    read = [block.text for block in message.blocks if block.kind in _READ and block.text]
    if not results and not read and not told:
        return _NO_OUTPUT
    outputs = [*((block.text, block.is_error) for block in results), *((text, False) for text in told)]
    texts = [*(text for text, _ in outputs), *read]
    return _Output(
        errors=tuple(line for text, is_error in outputs for line in failures(text, is_error=is_error)),
        named=tuple((Voice.RESULT, tuple(lexicon.identifiers(text, names=False))) for text in texts),
        answered=tuple(block.call_id for block in results),
    )


_NO_OUTPUT: Final = _Output((), (), ())
_READ: Final = frozenset({BlockKind.DOCUMENT, BlockKind.NATIVE})


def _results(message: SourceMessage, lexicon: Lexicon, *told: str) -> Findings:
    errors, named, answered = _output(message, lexicon, *told)
    return Findings(Speaker.TOOL, says=bool(told), errors=errors, named=named, answered=answered)


def _user(message: SourceMessage, lexicon: Lexicon) -> Findings:
    text = unwrapped(_text(message))
    if not text:
        return _results(message, lexicon)
    if is_output(text):
        return _results(message, lexicon, text)
    said = sentences(text)
    kind = nudge(text)
    errors, named, answered = _output(message, lexicon)
    return Findings(
        Speaker.USER,
        says=True,
        request="" if kind else text,
        nudge=kind,
        rules=_chosen("user_constraints", said, cues.rule, MAX_RULES),
        questions=_chosen("pending_questions", said, _asks),
        errors=errors,
        named=(*named, (Voice.USER, tuple(lexicon.identifiers(text)))),
        answered=answered,
    )


def _assistant(message: SourceMessage, lexicon: Lexicon) -> Findings:
    text = _text(message)
    said = sentences(text, headings=False)
    blocks = message.of_kind(BlockKind.CALL)
    errors, named, answered = _output(message, lexicon)
    return Findings(
        Speaker.ASSISTANT,
        says=bool(text.strip()),
        decisions=_chosen("decisions", said, cues.decision),
        completed=_chosen("completed", said, cues.completion),
        intentions=_chosen("next_steps", said, cues.intention),
        questions=_chosen("pending_questions", said, _asks),
        files=tuple(_files(text, blocks)),
        errors=errors,
        named=(
            *named,
            (Voice.ASSISTANT, tuple(lexicon.identifiers(text))),
            *((Voice.CALL, tuple(lexicon.identifiers(_values(block)))) for block in blocks),
        ),
        calls=tuple(Call(block.call_id, _description(block)) for block in blocks),
        answered=answered,
        plan=next((p for p in (plan(block.arguments) for block in reversed(blocks)) if p is not None), None),
    )


def _files(text: str, calls: Sequence[Block]) -> list[str]:
    """Return the files of calls; without calls, those of commands that an agent writes in code fences."""
    if calls:
        return [path for block in calls for path in touched(block.arguments)]
    return [path for code in fenced(text) for path in in_command(code)]


def _values(block: Block) -> str:
    """Return a call's strings, one a line; of a long one, such as a file's content, the beginning."""
    if block.arguments is None:
        return block.text
    return "\n".join(value[:_MAX_VALUE_CHARS] for _, value in strings(block.arguments))


def _description(block: Block) -> str:
    return clipped(well_formed(f"{block.name}: {block.text[:MAX_CALL_CHARS]}"), MAX_CALL_CHARS)
