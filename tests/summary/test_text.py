"""Cutting text on grapheme borders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.summary.text import border, clipped, head_tail, normalised


@given(st.text(), st.integers(1, 40))
def test_clipped_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    """A cut text is the text's own beginning and an ellipsis, never longer than asked."""
    cut = clipped(text, limit)
    assert len(cut) <= limit
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


@given(st.text(), st.integers(1, 40))
def test_clipping_again_changes_nothing(text: str, limit: int) -> None:
    """A cut text is not cut further by the same limit."""
    assert clipped(clipped(text, limit), limit) == clipped(text, limit)


@pytest.mark.parametrize(
    ("cluster", "inside"),
    [
        ("e\u0301", 1),
        ("👩\u200d💻", 1),
        ("👩\u200d💻", 2),
        ("👍🏽", 1),
        ("❤\ufe0f", 1),
        ("\r\n", 1),
        ("🇩🇪", 1),
        ("क्\u200d", 2),
    ],
)
def test_cuts_never_fall_inside_a_cluster(cluster: str, inside: int) -> None:
    """What is read as one character stays whole: the cut moves before it."""
    assert border("ab" + cluster + "cd", 2 + inside) == 2


def test_flags_are_cut_in_pairs() -> None:
    """In a row of flags a cut falls between two flags."""
    flags = "🇩🇪🇫🇷🇪🇸"
    assert [border(flags, at) for at in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_endless_cluster_is_cut_somewhere() -> None:
    """A base with a million marks cannot hold up a cut or empty the text."""
    text = "a" + "\u0301" * 1_000_000
    assert 0 < border(text, 500) <= 500


def test_head_tail_keeps_both_ends_at_spaces() -> None:
    """The middle goes, and no half word stays at the seam."""
    text = " ".join(f"word{i:04}" for i in range(1000))
    kept = head_tail(text, 100, 100)
    assert len(kept) <= 201
    assert set(kept.split()) <= set(text.split())
    assert kept.startswith("word0000")
    assert kept.endswith("word0999")


def test_head_tail_cuts_text_without_spaces() -> None:
    """A run without spaces is cut hard; a lone surrogate becomes U+FFFD."""
    assert head_tail("a" * 1000 + "\ud83d", 10, 5) == "a" * 10 + "\n" + "aaaa\ufffd"


@given(st.text())
def test_normalised_is_blank_only_for_blank_text(text: str) -> None:
    """Two different non-blank texts of punctuation do not fall together with nothing."""
    assert bool(normalised(text)) == bool(text.strip())
