"""Random histories, with every kind of item in every place."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ebbtide import mark
from ebbtide.harness import render_summary_item
from tests.harness.talk import assistant, calls, result, user

Items = list[dict[str, Any]]
_sizes = st.integers(0, 40)
_marks = st.sampled_from(["", "", "", "", "ephemeral", "internal", "pinned"])


def _marked(item: dict[str, Any], name: str) -> dict[str, Any]:
    return {**mark(item, **{name: True}), "name": name} if name else item


_plain = st.builds(
    lambda make, size, name: [_marked(make(size), name)], st.sampled_from([user, assistant]), _sizes, _marks
)
_summary = _sizes.map(lambda size: [render_summary_item(bridge="Go on.", summary_text="x" * 4 * size)])
_stray = st.builds(lambda name: [_marked(result("gone"), name)], _marks)


@st.composite
def _rounds(draw: st.DrawFn) -> Items:
    """A call and results, some missing, in any order, with other items in between."""
    prefix = draw(st.integers(0, 10**9))
    ids = [f"{prefix}-{n}" for n in range(draw(st.integers(1, 3)))]
    answered = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
    found: Items = [_marked(calls(*ids), draw(_marks))]
    for call_id in answered:
        found += draw(st.just([]) | st.just([]) | _plain | _summary)
        found.append(_marked(result(call_id, draw(_sizes)), draw(_marks)))
    return found


histories: st.SearchStrategy[Items] = st.lists(
    st.one_of(_plain, _plain, _rounds(), _rounds(), _summary, _stray), max_size=12
).map(lambda parts: [dict(item) for part in parts for item in part])
"""Each item is an object of its own, so that what comes out can be told by identity. A marked one has the
mark as its name, which a summariser would read."""
