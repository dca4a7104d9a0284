"""Random valid summaries, their items as awkward as text can be."""

from __future__ import annotations

from hypothesis import strategies as st

from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary

AWKWARD = (
    "## decisions",
    "- item",
    "  indented",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\x85",
    "\u2028",
    " leading",
    "trailing ",
    "a\n## next_steps\n- b",
    "# Summary of the earlier conversation",
    '<ebbtide-summary version="1"',
    "</ebbtide-summary>",
    "\u0301",
    "👩\u200d💻",
    "\x00",
)

POOL = (
    "a",
    "A",
    "a.",
    " a",
    "b",
    " ",
    "\n",
    "...",
    "Never x",
    "never x!",
    "The root cause is y",
    "Done: z",
    "👩\u200d💻",
)
"""Few texts, so that parts of a merge often hold equal items, nearly equal ones and blank ones."""

lines = st.one_of(st.sampled_from(AWKWARD), st.text(min_size=1, max_size=20))
awkward = st.lists(lines, min_size=1, max_size=3).map("\n".join)
pooled = st.sampled_from(POOL)


def summaries(items: st.SearchStrategy[str] = awkward, max_items: int = 3) -> st.SearchStrategy[Summary]:
    """Return a strategy of valid summaries with at most `max_items` items a list."""
    texts = st.one_of(st.just(""), items)
    lists = {name: st.lists(items, max_size=max_items).map(tuple) for name in LIST_FIELDS}
    return st.builds(
        Summary,
        session_intent=texts,
        active_request=texts,
        active_request_state=st.sampled_from(RequestState),
        language=st.sampled_from(["", "en", "pt-BR"]),
        **lists,
    )


@st.composite
def full_summaries(draw: st.DrawFn) -> Summary:
    """Draw a summary of long lists of numbered items, some of them in common with others so drawn."""
    start, size = draw(st.integers(0, 30)), draw(st.integers(20, 50))
    items = tuple(f"item {number} never" for number in range(start, start + size))
    return Summary.model_validate(dict.fromkeys(LIST_FIELDS, items))
