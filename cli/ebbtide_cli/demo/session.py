"""The demo's session: an invented, plausible day of a coding agent, in the shape of Anthropic Messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ebbtide_cli.demo.chapters import CHAPTERS, Chapter
from ebbtide_cli.demo.workshop import Workshop
from ebbtide_cli.replay.transcript import Transcript

Json = dict[str, Any]

SYSTEM: Final = (
    "You are a coding agent in the repository of a stock service. Use the tools to read, search, edit and "
    "test. Make the smallest change that solves the problem, and run the tests before you say that it works."
)


def _tool(name: str, purpose: str, *arguments: str) -> Json:
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"name": name, "description": purpose, "input_schema": schema}


TOOLS: Final = [
    _tool("read_file", "Read a file, with line numbers.", "path"),
    _tool("search", "Search all files for a word.", "word"),
    _tool("edit_file", "Replace a text that occurs once in a file.", "path", "old", "new"),
    _tool("run_tests", "Run tests and return what they print.", "selection"),
]


@dataclass
class _Writer:
    """Writes messages; ids of calls are numbered."""

    workshop: Workshop
    messages: list[Json] = field(default_factory=list)
    _calls: int = 0

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def say(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})

    def use(self, text: str, *calls: tuple[str, Json, str]) -> None:
        """Write one assistant message with its calls, and the user message with all their results."""
        blocks: list[Json] = [{"type": "text", "text": text}]
        results: list[Json] = []
        for name, arguments, answer in calls:
            self._calls += 1
            call_id = f"toolu_demo_{self._calls:04d}"
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
            results.append({"type": "tool_result", "tool_use_id": call_id, "content": answer})
        self.messages.append({"role": "assistant", "content": blocks})
        self.messages.append({"role": "user", "content": results})

    def chapter(self, chapter: Chapter) -> None:
        self.user(chapter.request)
        self._look_around(chapter)
        self._reproduce(chapter)
        self._change(chapter)
        self.say(chapter.closing)

    def _look_around(self, chapter: Chapter) -> None:
        shop = self.workshop
        found = shop.hits(chapter.word, chapter.modules, 14)
        self.use(f"I'll see where `{chapter.word}` is used.", ("search", {"word": chapter.word}, found))
        first, second, *others = chapter.modules
        self.use(
            f"The path goes through {first} and {second}; reading both.",
            ("read_file", {"path": first}, shop.source(first, 9)),
            ("read_file", {"path": second}, shop.source(second, 5)),
        )
        for module in others:
            self.use(f"{module} calls it.", ("read_file", {"path": module}, shop.source(module, 7)))

    def _reproduce(self, chapter: Chapter) -> None:
        test_file = f"tests/{chapter.modules[0].replace('/', '_').replace('.py', '_test.py')}"
        self.use(
            f"I think that {chapter.cause}. A test first, to see it fail.",
            (
                "edit_file",
                {"path": test_file, "old": "# new tests go here", "new": f"def {chapter.test}(): ..."},
                "Edited.",
            ),
        )
        run = self.workshop.failing(chapter.test, chapter.error, f"{test_file}:88", 60)
        self.use("It should fail now.", ("run_tests", {"selection": chapter.test}, run))

    def _change(self, chapter: Chapter) -> None:
        path = chapter.modules[0]
        self.use(
            f"Confirmed: {chapter.cause}. I decided to change only {path}.",
            ("edit_file", {"path": path, "old": chapter.old, "new": chapter.new}, "Edited."),
        )
        again = self.workshop.source(path, 9)
        self.use("Reading the result once more.", ("read_file", {"path": path}, again))
        self.use("Now all tests.", ("run_tests", {"selection": "."}, self.workshop.passing(added=1)))


def session(seed: int = 20_260_302) -> Transcript:
    """Return the session; the same for the same seed."""
    writer = _Writer(Workshop(seed))
    for chapter in CHAPTERS:
        writer.chapter(chapter)
    return Transcript("demo", "demo", 0, "anthropic", SYSTEM, TOOLS, tuple(writer.messages))
