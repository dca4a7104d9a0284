"""What was used lately."""

from __future__ import annotations

from ebbtide_core.recent import Recent


def test_the_one_used_longest_ago_is_forgotten_first() -> None:
    """To look at a value is to use it; the others keep what they hold."""
    recent: Recent[str, list[int]] = Recent(2, list)
    recent["a"].append(1)
    recent["b"].append(2)
    assert recent["a"] == [1]
    assert recent["c"] == []
    assert len(recent) == 2
    assert recent["a"] == [1]
    assert recent["b"] == []
