"""A seeded agent session: requests, speech, calls and results with paths, codes, addresses and errors.

Each message's own words (text, arguments, result) are of a given number of o200k tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Any, Final

from ebbtide_core.budget.tokens import tokenizer

ROUNDS_PER_REQUEST: Final = 9

_SPARE: Final = 1.1
"""Lines joined may be of fewer tokens than each for itself: so much more is drawn before it is cut."""

Round = Callable[[str, str, dict[str, str], str], tuple[dict[str, Any], dict[str, Any]]]
"""Makes a calling message and its result of id, speech, arguments and the result's text."""

_MODULES: Final = ("billing", "auth", "search", "worker", "api", "storage", "ledger", "mailer")
_PARTS: Final = ("models", "views", "tasks", "client", "schema", "routes", "cache", "test_retry", "settings")
_ENDINGS: Final = ("py", "ts", "sql", "yaml", "md", "go")
_VERBS: Final = ("load", "store", "merge", "retry", "parse", "render", "close", "fetch")
_CODES: Final = ("E501", "TS2307", "ECONNREFUSED", "HTTP-503", "INV-20417", "ValueError", "KeyError", "F821")
_REQUESTS: Final = (
    "Please look at {path} and find out why {name} fails with {code}.",
    "The customer {customer} reports it since {version}, see {url} for the thread.",
    "Never touch {path}, and always run the tests before you commit.",
    "You must keep the public signature of {name}; only the internals may change.",
    "Why does it take {number} ms when the cache at {host} is warm?",
    "Der Fehler tritt nur auf, wenn {name} zweimal aufgerufen wird, bitte keine neue Abhängigkeit.",
    "Use the staging host {host} and the order {customer} to reproduce it.",
    "It worked before the last release, and nobody on the team remembers what was changed since then.",
    "Take your time, read the code around it first, and explain what you find before you change anything.",
    "The numbers on the dashboard look right, so I think that only the export is wrong.",
    "We talked about this last week and agreed that a smaller change is better than a clean one for now.",
)
_SPEECH: Final = (
    "I looked at {path}, and {name} is called twice before the lock is taken.",
    "The root cause is a missing index on {name}, which {path} never creates.",
    "I decided to keep {name} and to move the retry into {path}, because {code} is raised there.",
    "Let me read {path} next, then I will run the tests again.",
    "It works now: all {number} tests pass, and {name} returns the cached value.",
    "Maybe the cause is the time-out of {host}, but the log says otherwise.",
    "The change of {version} made it slow, see commit {hex}.",
    "Should I also update `{name}` in {path}?",
    "The error only shows up when two of them run at the same time, which explains why it looks random.",
    "That is the expected behaviour, since the second caller has to wait until the first one is finished.",
    "I will keep the change small and leave everything else in this part of the code as it is.",
    "There are three places that could be responsible, and I am going through them one after the other.",
    "The output is what we want, so the remaining question is only where the delay comes from.",
)
_LISTED: Final = ("-rw-r--r-- 1 app app {number} Mar 12 09:41 {path}", "drwxr-xr-x 2 app app 4096 {folder}")
_FOUND: Final = (
    "{path}:{line}:    return {name}(key, timeout={line})",
    "{path}:{line}:from {module} import {name}",
)
_TESTED: Final = (
    "{path}::test_{name} PASSED [{line}%]",
    "FAILED {path}::test_{name} - {code}: '{hex}'",
    "E   {code}: expected {number}, got {line}",
    "1 failed, {line} passed in {line}.{line}s",
    "collected {line} items",
    "---------------------------- Captured stdout call ----------------------------",
    "waiting for the background thread to finish its work before the next case",
)
_TRACED: Final = (
    '  File "/srv/app/{path}", line {line}, in {name}',
    "    value = self.{name}({line})",
    "Traceback (most recent call last):",
    "    with self.lock:",
    "    for item in items:",
    "ConnectionError: {host} refused the connection after {line} attempts",
)
_LOGGED: Final = (
    "2026-03-1{digit}T09:41:0{digit}Z INFO {module} {name} took {number} ms id={uuid}",
    "2026-03-1{digit}T09:41:0{digit}Z ERROR {module} {code} at {url}",
    "GET {url} 200 {number}",
    "2026-03-1{digit}T09:41:0{digit}Z INFO {module} flushed the buffer and waits for more work",
    "2026-03-1{digit}T09:41:0{digit}Z DEBUG {module} nothing to do, sleeping for a while",
)
_CODED: Final = (
    "    def {name}(self, key: str, limit: int = {line}) -> dict[str, int]:",
    "        # see {url}",
    "        return {{k: v for k, v in self._{name}.items() if v > {line}}}",
    "    if not key.startswith('{module}/'):",
    "        if value is None:",
    "            continue",
    "        # the caller holds the lock, so nothing else can change the list while we look at it",
    "        result = [item for item in items if item is not None and item.ready]",
    "        total = sum(len(item) for item in result)",
    "        raise {code}('the value is not what was asked for')",
)
_ROWS: Final = ('{{"id": "{uuid}", "order": "{customer}", "total": {number}, "path": "{path}"}},',)
_PROSE: Final = (
    "The queue hands out work in the order in which it arrived, and a worker that stops gives it back.",
    "Each entry is kept for a day. After that it is removed by the nightly task, which also writes a report.",
    "To change this behaviour, set the option in the configuration and start the service again.",
    "Note that the limit counts all requests of one customer, also those that were refused before.",
    "See {url} for the background, and {path} for an example.",
)
_RESULTS: Final = (_LISTED, _FOUND, _TESTED, _TRACED, _LOGGED, _CODED, _CODED, _CODED, _PROSE, _PROSE, _ROWS)
_COMMANDS: Final = (
    "cd /srv/app && python -m pytest {path} -q",
    "grep -rn '{name}' {folder} | head -{line}",
    "sed -n {line},9{line}p {path}",
    "curl -s {url} -o out/{name}.json",
)


class Words:
    """Draws names, and lines of templates filled with them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._draw: dict[str, Callable[[], object]] = {
            "path": lambda: f"{self.one(_MODULES)}/{self.one(_PARTS)}_{self.below(60)}.{self.one(_ENDINGS)}",
            "folder": lambda: f"/srv/app/{self.one(_MODULES)}/",
            "module": lambda: self.one(_MODULES),
            "name": lambda: f"{self.one(_VERBS)}_{self.one(_MODULES)}",
            "code": lambda: self.one(_CODES),
            "customer": lambda: f"ord_{self.below(10_000):05}",
            "version": lambda: f"v{self.below(3)}.{self.below(20)}.{self.below(9)}",
            "url": lambda: f"https://tracker.example.org/{self.one(_MODULES)}/{self.below(9_999)}?tab=log",
            "host": lambda: f"{self.one(_MODULES)}.internal:{5_000 + self.below(99)}",
            "number": lambda: self.below(9_000),
            "line": lambda: self.below(90),
            "digit": lambda: self.below(9),
            "hex": lambda: f"{self._random.getrandbits(40):010x}",
            "uuid": lambda: f"{self._random.getrandbits(32):08x}-0000-4000-8000-{self.below(9**12):012x}",
        }

    def one(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices."""
        return self._random.choice(choices)

    def below(self, stop: int) -> int:
        """Return a number from 0 up to, not including, `stop`."""
        return self._random.randrange(stop)

    def line(self, templates: Sequence[str]) -> str:
        """Return one of the templates, filled."""
        template: str = self.one(templates)
        return template.format_map(self)

    def __getitem__(self, name: str) -> object:
        return self._draw[name]()

    def text(self, templates: Sequence[str], tokens: int, between: str = "\n") -> str:
        """Return lines of the templates, cut to the longest beginning of at most so many tokens."""
        lines: list[str] = []
        size = 0
        while size < _SPARE * tokens:
            lines.append(self.line(templates))
            size += tokenizer().count(lines[-1])
        return _cut(between.join(lines), tokens)


def _cut(text: str, tokens: int) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if tokenizer().count(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def session(messages: int, tokens: int, dialect: str, seed: int = 7) -> list[dict[str, Any]]:
    """Return a session in a dialect's own shape: so many messages, each with words of so many tokens.

    A request, nine rounds of call and result, an answer, and again. Half of a calling message is speech.
    """
    endless = _talk(Words(seed), tokens, _ROUNDS[dialect])
    return [next(endless) for _ in range(messages)]


def _talk(words: Words, tokens: int, round_of: Round) -> Iterator[dict[str, Any]]:
    numbers = count(1)
    while True:
        yield {"role": "user", "content": words.text(_REQUESTS, tokens, " ")}
        for _ in range(ROUNDS_PER_REQUEST):
            said = words.text(_SPEECH, tokens // 2, " ")
            command = words.text(_COMMANDS, tokens - tokens // 2, "; ")
            found = words.text(words.one(_RESULTS), tokens)
            yield from round_of(f"call_{next(numbers)}", said, {"command": command}, found)
        yield {"role": "assistant", "content": words.text(_SPEECH, tokens, " ")}


def _anthropic(
    call_id: str, said: str, arguments: dict[str, str], found: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    use = {"type": "tool_use", "id": call_id, "name": "bash", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": found}
    return (
        {"role": "assistant", "content": [{"type": "text", "text": said}, use]},
        {"role": "user", "content": [result]},
    )


def _openai(
    call_id: str, said: str, arguments: dict[str, str], found: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    function = {"name": "bash", "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return (
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": found},
    )


_ROUNDS: Final[dict[str, Round]] = {"anthropic": _anthropic, "openai": _openai}
