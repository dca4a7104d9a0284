"""The benchmark of the extractive summary, in quick mode."""

from __future__ import annotations

from bench.extractive import COLUMNS, run
from bench.extractive.job import made, upload
from bench.extractive.noise import NOISE, SIZES
from bench.extractive.session import session

from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.detect import by_name


def test_every_goal_is_judged_and_every_row_is_whole() -> None:
    """A quick run measures two sessions and two huge messages, each noise, and judges four goals."""
    result = run(quick=True)

    assert result.columns == COLUMNS
    assert {len(row) for row in result.rows} == {len(COLUMNS)}
    assert len(result.rows) == 3 * 4 + len(NOISE)
    assert len({row[0] for row in result.rows}) == len(result.rows)
    assert len(result.goals) == 4
    assert all(goal.measured for goal in result.goals)


def test_messages_have_the_size_that_is_said() -> None:
    """Words of text, arguments and result are of 100 tokens, cut ones one or two less; a seed tells all."""
    for name in ("anthropic", "openai"):
        talk = session(40, 100, name)
        for message in talk:
            blocks = by_name(name).blocks(message)
            words = [(block.arguments or {}).get("command", block.text) for block in blocks]
            assert 95 <= sum(map(tokenizer().count, words)) <= 100
        assert session(40, 100, name) == talk
        assert session(40, 100, name, seed=8) != talk


def test_the_whole_job_covers_all_messages() -> None:
    """What is timed as a job makes a real record of every message."""
    record = made(*upload(session(60, 100, "openai"), "openai"))

    assert record.position.count == 60
    assert [(c.first, c.stop) for c in record.coverage] == [(0, 60)]
    assert record.body_fits()
    assert record.summary.files_touched


def test_noise_is_long_enough() -> None:
    """Each hostile text can be cut to the larger size, which is ten times the smaller one."""
    assert SIZES[1] == 10 * SIZES[0]
    assert all(len(text) >= 0.99 * SIZES[1] for text in NOISE.values())
