"""The ACL lines of the operations page follow the scripts: no command is missing, none too many."""

from __future__ import annotations

import re

import pytest

from ebbtide_core import names
from ebbtide_core.store.script import Scripts, script_names
from tests.brokers.page import acl_lines, rules

STATE_USERS = ["ebbtide-host", "ebbtide-worker", "ebbtide-operator", "ebbtide-acme"]
BY_HAND = {"scan", "info", "config|get", "script|load"}
_CALLED = re.compile(r"""redis\.p?call\(['"]([A-Za-z]+)['"]""")


def called() -> set[str]:
    """Return every command that a script calls, and those by which scripts are run."""
    scripts = Scripts()
    texts = [scripts[name].text for name in script_names()]
    return {found.lower() for text in texts for found in _CALLED.findall(text)} | {"eval", "evalsha"}


def commands(user: str) -> set[str]:
    """Return the single commands that a user of the page may give."""
    return {rule[1:] for rule in rules(user) if rule.startswith("+") and not rule.startswith("+@")}


def test_there_is_a_line_for_each_user() -> None:
    """And no other line."""
    assert sorted(acl_lines()) == sorted([*STATE_USERS, "ebbtide-broker"])


@pytest.mark.parametrize("user", STATE_USERS)
def test_a_user_of_the_state_may_do_what_the_scripts_do(user: str) -> None:
    """An operator looks at keys and settings besides."""
    assert commands(user) == called() | (BY_HAND if user == "ebbtide-operator" else set())


def test_all_keys_of_the_state_are_a_worker_s() -> None:
    """Whatever owns them."""
    keys = [names.Owner("t", "s").state, names.memo("t", "d"), names.fleet("ready"), names.account("a")]
    (pattern,) = [
        rule.removeprefix("~").removesuffix("*") for rule in rules("ebbtide-worker") if rule[0] == "~"
    ]
    assert all(key.startswith(pattern) for key in keys)
