"""Law 13: names can't collide, so no key crosses tenants or sessions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ebbtide_core.contract.job import job_id
from ebbtide_core.errors import InputError, LimitError
from ebbtide_core.lineage.chain import origin
from ebbtide_core.names import (
    MAX_NAME_BYTES,
    Owner,
    account,
    checked_name,
    fleet,
    memo,
    tenant_block,
    tenant_policy,
)
from tests.laws.checks import caught

Keys = Callable[[Owner], list[str]]

_TRICKY = st.text(alphabet=":{}/%.~-_ab\u00e9\u6771 ?#*[]\"'\\", min_size=1, max_size=6)
names = st.one_of(_TRICKY, st.text(min_size=1, max_size=20)).filter(
    lambda name: not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", name)
)
owners = st.builds(Owner, names, names)


def keys_of(owner: Owner) -> list[str]:
    """Return every key that a session's own data stands under."""
    own = [owner.state, owner.tally, owner.review, owner.memos, owner.record(1), owner.manifest("m")]
    return [*own, owner.segment("s"), owner.member]


def shared(pair: tuple[Owner, Owner], keys: Keys = keys_of) -> list[str]:
    """Return the keys that two owners have in common though they differ."""
    a, b = pair
    return [] if a == b else [key for key in keys(a) if key in keys(b)]


def _tag(key: str) -> str:
    return key[key.index("{") + 1 : key.index("}")]


@given(st.tuples(owners, owners))
@example((Owner("a:b", "c"), Owner("a", "b:c")))
@example((Owner("a/b", "c"), Owner("a", "b/c")))
@example((Owner("a%3Ab", "c"), Owner("a:b", "c")))
@example((Owner("a}:x", "c"), Owner("a", "}:x:c")))
def test_two_owners_never_share_a_key(pair: tuple[Owner, Owner]) -> None:
    """Whatever their names hold."""
    assert shared(pair) == []


@given(owners)
def test_a_session_and_its_member_name_each_other(owner: Owner) -> None:
    """The word of the ready index gives the owner back."""
    assert Owner.from_member(owner.member) == owner


@given(owners, owners)
def test_a_key_has_one_tag_of_its_owner(owner: Owner, other: Owner) -> None:
    """All keys of a session share their tag; its tenant's, another session's and the fleet's differ."""
    tags = {_tag(key) for key in keys_of(owner)[:-1]}
    assert len(tags) == 1
    foreign = {_tag(memo(owner.tenant, "d")), _tag(fleet("ready"))}
    foreign |= {_tag(other.state)} if other != owner else set()
    assert tags.isdisjoint(foreign)
    for key in (*keys_of(owner)[:-1], memo(owner.tenant, "d")):
        assert (key.count("{"), key.count("}")) == (1, 1)


@given(names, names)
def test_what_two_tenants_have_never_shares_a_key(a: str, b: str) -> None:
    """A memo, a policy, a block and an account of a provider are found by their owner's name only."""
    for key in (partial(memo, digest="d"), tenant_policy, tenant_block, account):
        assert (key(a) == key(b)) == (a == b)


@given(st.tuples(owners, owners))
@example((Owner("a:b", "c"), Owner("a", "b:c")))
def test_jobs_of_two_sessions_never_share_a_name(pair: tuple[Owner, Owner]) -> None:
    """The same position under the same policy is another job for another session."""
    a, b = (job_id(owner, origin("openai"), "f") for owner in pair)
    assert (a == b) == (pair[0] == pair[1])


@given(names)
def test_good_names_pass_unchanged(name: str) -> None:
    """Any text of 1 to 256 bytes without control characters is a name."""
    assert checked_name(name, "tenant") == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "0 bytes"),
        ("x" * (MAX_NAME_BYTES + 1), "257 bytes"),
        ("\u6771" * 86, "258 bytes"),
        ("a\nb", "control character"),
        ("a\x7fb", "control character"),
        ("a\x85b", "control character"),
        ("a\ud83db", "lone surrogate"),
    ],
)
def test_a_name_outside_the_limits_is_a_limit_error(name: str, problem: str) -> None:
    """It says which name is meant and what is wrong."""
    with pytest.raises(LimitError, match=problem) as raised:
        Owner.of("acme", name)
    assert raised.value.path == "session_id"


@pytest.mark.parametrize("name", [None, 7, b"acme"])
def test_a_name_that_is_no_string_is_an_input_error(name: object) -> None:
    """A number is not taken for its digits."""
    with pytest.raises(InputError, match="must be a string"):
        Owner.of(name, "chat")


def test_the_check_sees_names_joined_by_a_colon() -> None:
    """Keys that hold the names as they are collide, and the check finds such a pair."""

    def joined(owner: Owner) -> list[str]:
        return [f"ebbtide:1:{{{owner.tenant}:{owner.session_id}}}:state"]

    few = st.text(alphabet=":a", min_size=1, max_size=3)
    pairs = st.tuples(st.builds(Owner, few, few), st.builds(Owner, few, few))
    assert caught(pairs, lambda pair: shared(pair, joined), examples=5000)
