"""Identity: which calls ask the same of the same tool, and in which directory."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core.errors import InputError
from ebbtide_core.policy import Policy
from ebbtide_core.views.identity import DEFAULTS, Identity, Superseding
from ebbtide_core.views.whereabouts import Whereabouts

Json = dict[str, Any]
BUILT_IN = Identity.of()


def alike(tool: str, one: Json, other: Json, rules: Superseding | None = None, by: str = "") -> bool:
    """Say whether two calls are alike; the second may be of another tool."""
    identity = Identity.of(rules)
    key = identity.key(tool, one)
    return key is not None and key == identity.key(by or tool, other)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/a.py", "offset": 10, "limit": 20}),
        ("Grep", {"pattern": "x", "path": "/src", "-n": True}),
        ("Glob", {"pattern": "**/*.py"}),
        ("LS", {}),
        ("Bash", {"command": "make test"}),
        ("open", {"path": "src/a.py", "line_number": 7}),
        ("find_file", {"file_name": "a.py", "dir": "src"}),
        ("search_file", {"search_term": "x", "file": "a.py"}),
        ("str_replace_editor", {"command": "view", "path": "/a.py", "view_range": [1, 9]}),
        ("execute_bash", {"command": "ls", "is_input": "false"}),
        ("shell", {"command": ["bash", "-lc", "ls"], "workdir": "/repo"}),
        ("shell", {"commands": ["ls", "make"], "max_output_length": 100}),
        ("read_many_files", {"paths": ["a.py"]}),
        ("run_shell_command", {"command": "ls", "directory": "src"}),
        ("mcp__filesystem__read_text_file", {"path": "/a.py", "head": 10}),
        ("filesystem.list_directory", {"path": "/"}),
        ("functions.read_file", {"file_path": "/a.py"}),
    ],
)
def test_tools_of_known_agents_are_told_by_their_arguments(tool: str, arguments: Json) -> None:
    """The same call again is alike, in any case of the tool's name and whatever else it says of itself."""
    told = {**arguments, "description": "look once more", "timeout": 5}
    assert alike(tool, arguments, told, by=tool.upper())
    assert not alike(tool, arguments, {**arguments, "another": 1})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "/a.py", "content": "x"}),
        ("Edit", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}),
        ("apply_patch", {"input": "*** Begin Patch"}),
        ("str_replace_editor", {"command": "create", "path": "/a.py"}),
        ("str_replace_editor", {"path": "/a.py"}),
        ("write_file", {"path": "/a.py"}),
        ("Task", {"prompt": "look"}),
        ("WebSearch", {"query": "tide"}),
        ("BashOutput", {"bash_id": "1"}),
        ("write_stdin", {"session_id": 1, "chars": ""}),
        ("scroll_down", {}),
        ("search_file", {"search_term": "x"}),
        ("Bash", {"command": "npm start", "run_in_background": True}),
        ("bash", {"restart": True}),
        ("bash", {"command": "ls", "restart": True}),
        ("execute_bash", {"command": ""}),
        ("execute_bash", {"command": "y", "is_input": "true"}),
        ("terminal", {"command": "C-c", "is_input": True}),
        ("", {"path": "/a.py"}),
        ("server.", {"path": "/a.py"}),
    ],
)
def test_what_writes_or_goes_on_is_like_no_other(tool: str, arguments: Json) -> None:
    """Edits, answers that depend on the time, and shells that give what came since they were last asked."""
    assert BUILT_IN.key(tool, arguments) is None


def test_another_range_is_another_target() -> None:
    """Reading on does not make what was read before worthless."""
    assert not alike("Read", {"file_path": "/a.py"}, {"file_path": "/a.py", "offset": 100})
    assert not alike("read_file", {"path": "/a", "head": 5}, {"path": "/a", "head": 6})


def test_missing_null_and_empty_are_absent() -> None:
    """A host may spell an argument that is not given in several ways."""
    assert alike("Grep", {"pattern": "x"}, {"path": None, "pattern": "x", "glob": ""})


def test_two_servers_are_two_tools() -> None:
    """The same name behind another server reads something else."""
    first, second = "mcp__left__read_file", "mcp__right__read_file"
    assert not alike(first, {"path": "/a"}, {"path": "/a"}, by=second)


def test_rules_replace_the_built_in_ones() -> None:
    """What a policy names counts and nothing else; without rules nothing is alike."""
    rules = {"get_Order": ("order_id",)}
    assert alike("get_order", {"order_id": 7, "note": "a"}, {"order_id": 7, "note": "b"}, rules)
    assert not alike("get_order", {"order_id": 7}, {"order_id": 8}, rules)
    assert Identity.of(rules).key("Read", {"file_path": "/a"}) is None
    assert Identity.of({}).key("Read", {"file_path": "/a"}) is None
    assert alike("ping", {"x": 1}, {"x": 2}, {"ping": ()})


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        ({"url": "a"}, True),
        ({"url": "a", "mode": "view"}, True),
        ({"url": "a", "mode": None}, True),
        ({"url": "a", "mode": "edit"}, False),
        ({"mode": "view"}, False),
        ({"url": ""}, False),
    ],
)
def test_a_rule_may_ask_for_arguments_and_values(arguments: Json, known: bool) -> None:
    """`!` asks for an argument, `=` for one of some values, among them none."""
    rules = {"page": ("url!", "mode=|view", "*")}
    assert (Identity.of(rules).key("page", arguments) is not None) is known


def test_a_rule_that_is_a_string_is_refused() -> None:
    """A forgotten comma would make a rule of single letters."""
    with pytest.raises(InputError, match=r"superseding\.Read: give a list of terms"):
        Identity.of({"Read": "path"})  # type: ignore[dict-item]


def test_a_policy_takes_rules() -> None:
    """As they are written for `Identity`."""
    rules = {**DEFAULTS, "get_order": ("order_id",)}
    assert Policy(superseding=rules).superseding == rules
    assert Policy().superseding is None


def test_arguments_too_deep_to_compare_are_like_no_other() -> None:
    """A model can write arguments of any depth."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert BUILT_IN.key("Read", {"path": deep}) is None


def places(commands: list[Any]) -> list[str]:
    """Where the shell is before and after each of some commands."""
    where = Whereabouts()
    found = [where.place]
    for command in commands:
        where.follow({"command": command})
        found.append(where.place)
    return found


@pytest.mark.parametrize(
    "commands",
    [
        ["cd /repo && make", "cd /repo && make"],
        ["cd sub && make", "cd sub && make"],
        ["ls", "cdrecord x", "echo cd /x", "(cd sub; make)"],
        [None, 7, ["cd", "/x"]],
    ],
)
def test_commands_that_stay_stay(commands: list[Any]) -> None:
    """No move, the same move again, or a move of a subshell only."""
    assert len(set(places(commands)[1:])) == 1


@pytest.mark.parametrize(
    "commands",
    [
        ["cd /a", "cd /b"],
        ["cd a", "cd b"],
        ["cd ..", "cd .."],
        ["cd a", "cd -", "cd -"],
        ["cd a", "cd", "cd"],
        ["make\n  cd a", "ls && cd b"],
        ["cd a; cd b", "cd a; cd b"],
        ["pushd /a", "popd"],
    ],
)
def test_commands_that_may_lead_elsewhere_do(commands: list[str]) -> None:
    """Where it can't be told, the place is a new one."""
    found = places(commands)
    assert len(set(found)) == len(found)


def test_a_list_of_commands_may_lead_elsewhere() -> None:
    """Each is a line of its own."""
    where = Whereabouts()
    where.follow({"commands": ["make", "cd /repo", 7]})
    assert where.place == "/repo"


def test_calls_out_of_sight_may_have_led_anywhere() -> None:
    """What a summary stands for is not read for moves."""
    where = Whereabouts("/repo")
    where.lost()
    first = where.place
    where.lost()
    assert len({"/repo", first, where.place}) == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "everywhere"),
    [
        ("Bash", {"command": "ls"}, False),
        ("Bash", {"command": "cd sub && ls"}, False),
        ("Bash", {"command": "cd /repo && ls"}, True),
        ("Bash", {"command": 'cd "C:/repo"; ls'}, True),
        ("shell", {"command": ["ls"], "workdir": "/repo"}, True),
        ("Read", {"file_path": "/repo/a.py"}, True),
        ("Read", {"file_path": "~/a.py"}, True),
        ("open", {"path": "a.py"}, False),
        ("Grep", {"pattern": "/repo"}, False),
    ],
)
def test_only_relative_targets_depend_on_the_place(tool: str, arguments: Json, everywhere: bool) -> None:
    """An absolute path, or a command that goes to one first, says where it looks."""
    here, there = BUILT_IN.key(tool, arguments, "/a"), BUILT_IN.key(tool, arguments, "/b")
    assert here is not None
    assert (here == there) is everywhere
