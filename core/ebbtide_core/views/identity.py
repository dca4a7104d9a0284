"""What makes two tool calls alike: the tool, and the target that their arguments name.

A rule is a list of terms. `DEFAULTS` holds those of well-known agents.

- `name`: this argument is part of the target;
- `name!`: so it is, and a call without it is like no other;
- `name=a|b`: a call whose argument is none of these is like no other; nothing before a bar is an absent one;
- `*`: every argument is part of the target but those of `NOISE`.

An argument that is missing, null or an empty string is absent. A tool is found by its name in any case, alone
or behind the server or namespace that offers it: `mcp__files__read_file`, `files.read_file`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import canonical_bytes, digest
from ebbtide_core.summary.words import words
from ebbtide_core.views.whereabouts import anchored

Superseding = Mapping[str, tuple[str, ...]]
"""Rules by the name of the tool."""

NOISE: Final = words(
    """
    description explanation justification reason reasoning thought summary security_risk
    timeout timeout_ms timeout_seconds
    requires_approval require_user_approval sandbox_permissions with_escalated_permissions prefix_rule
    request_heartbeat
    """
)
"""Arguments that explain a call, ask for leave or limit its time, and say nothing of what it looks at."""

_SHELL: Final = (
    "command!",
    "background=|false",
    "is_background=|false",
    "is_input=|false",
    "reset=|false",
    "restart=|false",
    "run_in_background=|false",
    "*",
)
"""A shell in the background, or one that is written to, answers with what came since it was last asked."""

DEFAULTS: Final[Superseding] = {
    **dict.fromkeys(
        words(
            """
            read read_file read_files read_many_files read_text_file read_multiple_files view view_file
            view_image open_file cat notebookread read_notebook get_file_contents
            ls list list_dir list_directory list_directory_with_sizes list_files directory_tree tree
            grep grep_search glob glob_search find_files search_files search_file_content search_in_files
            codebase_search file_search ripgrep
            """
        ),
        ("*",),
    ),
    **dict.fromkeys(
        words("str_replace_editor str_replace_based_edit_tool file_editor text_editor memory"),
        ("command=view", "path!", "*"),
    ),
    **dict.fromkeys(
        words(
            """
            bash shell_command local_shell execute_bash execute_command run_command run_shell_command
            run_terminal_cmd terminal execute
            """
        ),
        _SHELL,
    ),
    "shell": _SHELL[1:],
    "open": ("path!", "*"),
    "find_file": ("file_name!", "*"),
    "search_dir": ("search_term!", "*"),
    "search_file": ("search_term!", "file!", "*"),
}
"""Tools of well-known agents and MCP servers that read, list or search, and shells given the same command.

A read's range is part of its target. None of them writes, and none goes on where its last answer ended.
"""

_NAMESPACE: Final = re.compile(r"__|[./:]")


@dataclass(frozen=True, slots=True)
class Rule:
    """How the target of one tool's calls is made up; see the terms above."""

    names: frozenset[str]
    needed: frozenset[str]
    only: Mapping[str, frozenset[str]]
    every: bool

    @classmethod
    def of(cls, terms: tuple[str, ...]) -> Self:
        """Return the rule that terms spell."""
        only = [term.partition("=") for term in terms if "=" in term]
        names = [term for term in terms if "=" not in term and term != "*"]
        return cls(
            names=frozenset(name.removesuffix("!") for name in names),
            needed=frozenset(name.removesuffix("!") for name in names if name.endswith("!")),
            only={name: frozenset(values.split("|")) for name, _, values in only},
            every="*" in terms,
        )

    def target(self, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments that make up the target; None for a call that is like no other."""
        given = {name: value for name, value in arguments.items() if value is not None and value != ""}
        if not self.needed <= given.keys():
            return None
        if any(_spelt(given.get(name)) not in values for name, values in self.only.items()):
            return None
        return {name: value for name, value in given.items() if self._counts(name)}

    def _counts(self, name: str) -> bool:
        return name in self.names or (self.every and name not in self.only and name not in NOISE)


@dataclass(frozen=True, slots=True)
class Identity:
    """Tells which calls ask the same of the same tool. `rules` are by the tool's name in lower case."""

    rules: Mapping[str, Rule]

    @classmethod
    def of(cls, superseding: Superseding | None = None) -> Self:
        """Return the identity of rules; None stands for `DEFAULTS`.

        Raises InputError for a rule that is one string and no list of terms.
        """
        rules = DEFAULTS if superseding is None else superseding
        for tool, terms in rules.items():
            if isinstance(terms, str):
                raise InputError(f"give a list of terms, not {terms!r}", path=f"superseding.{tool}")
        return cls({tool.casefold(): Rule.of(tuple(terms)) for tool, terms in rules.items()})

    def key(self, tool: str, arguments: Mapping[str, Any], place: str = "") -> bytes | None:
        """Return a digest that only calls that are alike share; None for a call that is like no other.

        `place` is the directory that a relative target is looked for in.
        """
        name = tool.casefold()
        rule = self.rules.get(name) or self.rules.get(_NAMESPACE.split(name)[-1])
        target = rule.target(arguments) if rule else None
        if target is None:
            return None
        try:
            form = canonical_bytes([name, "" if anchored(arguments) else place, target])
        except RecursionError:
            return None
        return digest(b"ebbtide/identity/1", form)


def _spelt(value: Any) -> str:
    """Return a value as a term spells it; "" when it is absent."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
