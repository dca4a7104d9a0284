"""The Prometheus recorder: every metric is there, and figures arrive under their labels."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from ebbtide_core.metrics import ALL, SWAPS, TURN_SECONDS, TURNS, Kind
from ebbtide_monitoring.prometheus import PrometheusRecorder


def exposed(registry: CollectorRegistry) -> dict[str, str]:
    """Return type by family name of what a scrape would show."""
    text = generate_latest(registry).decode()
    return {family.name: family.type for family in text_string_to_metric_families(text)}


def test_every_metric_is_exposed_with_its_kind() -> None:
    """A scrape shows each metric of the list under its own name and kind."""
    registry = CollectorRegistry()
    PrometheusRecorder(registry)
    shown = exposed(registry)
    for metric in ALL:
        name = metric.name.removesuffix("_total") if metric.kind is Kind.COUNTER else metric.name
        assert shown[name] == metric.kind.value


def test_counts_and_observations_arrive_under_their_labels() -> None:
    """What is recorded is what the registry tells."""
    registry = CollectorRegistry()
    recorder = PrometheusRecorder(registry)
    recorder.count(TURNS, action="keep", reason="below_soft")
    recorder.count(TURNS, 2, action="keep", reason="below_soft")
    recorder.count(SWAPS)
    recorder.observe(TURN_SECONDS, 0.002)
    labels = {"action": "keep", "reason": "below_soft"}
    assert registry.get_sample_value("ebbtide_turns_total", labels) == 3
    assert registry.get_sample_value("ebbtide_swaps_total") == 1
    assert registry.get_sample_value("ebbtide_turn_seconds_count") == 1
    assert registry.get_sample_value("ebbtide_turn_seconds_bucket", {"le": "0.0025"}) == 1


def test_every_metric_names_its_unit() -> None:
    """Counters end in _total, histograms in their unit, and only histograms have buckets."""
    for metric in ALL:
        assert metric.name.endswith("_total" if metric.kind is Kind.COUNTER else ("_seconds", "_tokens"))
        assert bool(metric.buckets) == (metric.kind is Kind.HISTOGRAM)
