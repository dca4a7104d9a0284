"""Metrics as data, and the recorder that keeps them in memory."""

from __future__ import annotations

import re

import pytest

from ebbtide_core import metrics
from ebbtide_core.metrics import ALL, Kind, MemoryRecorder, Metric, NullRecorder


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
def test_a_metric_is_named_as_prometheus_likes_it(metric: Metric) -> None:
    """Prefix, unit last, counters end in total, histograms have rising buckets, and help is a sentence."""
    assert re.fullmatch(r"ebbtide_[a-z_]+_(total|seconds|tokens)", metric.name)
    assert (metric.kind is Kind.COUNTER) == metric.name.endswith("_total")
    assert (metric.kind is Kind.HISTOGRAM) == bool(metric.buckets)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert metric.help.endswith(".")
    assert all(re.fullmatch(r"[a-z_]+", label) for label in metric.labels)


def test_every_metric_is_listed_once() -> None:
    """What is bound to Prometheus is all there is."""
    defined = [value for value in vars(metrics).values() if isinstance(value, Metric)]
    assert sorted(m.name for m in ALL) == sorted(m.name for m in defined)
    assert len({m.name for m in ALL}) == len(ALL)


def test_no_metric_is_labelled_by_session() -> None:
    """That would be a series for each conversation."""
    assert not [m for m in ALL if {"session", "session_id"} & set(m.labels)]


def test_memory_keeps_counts_and_values_by_label() -> None:
    """A total is summed over the labels not given."""
    recorder = MemoryRecorder()
    recorder.count(metrics.TURNS, action="keep", reason="below_soft")
    recorder.count(metrics.TURNS, 2, action="keep", reason="over_soft")
    recorder.count(metrics.TURNS, action="swap", reason="record_ready")
    recorder.observe(metrics.TURN_SECONDS, 0.5)
    recorder.observe(metrics.TURN_SECONDS, 0.1)
    assert recorder.total(metrics.TURNS) == 4
    assert recorder.total(metrics.TURNS, "keep") == 3
    assert recorder.total(metrics.TURNS, "keep", "over_soft") == 2
    assert recorder.total(metrics.SWAPS) == 0
    assert recorder.values == {("ebbtide_turn_seconds", ()): [0.5, 0.1]}


def test_the_null_recorder_takes_anything() -> None:
    """It is what a host has that records nothing."""
    NullRecorder().count(metrics.TURNS)
    NullRecorder().observe(metrics.TURN_SECONDS, 1.0)
