"""The recorder that keeps Ebbtide's metrics as prometheus_client metrics."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from ebbtide_core.metrics import ALL, Kind, Metric


class PrometheusRecorder:
    """Binds every metric of `ebbtide_core.metrics` to a registry, the process's own unless another is given.

    Make one a process: a second one on the same registry raises ValueError. Labels are those that the
    metric names; none ever holds a tenant, a session or content.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._counters = {m.name: _counter(m, registry) for m in ALL if m.kind is Kind.COUNTER}
        self._histograms = {m.name: _histogram(m, registry) for m in ALL if m.kind is Kind.HISTOGRAM}

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        counter = self._counters[metric.name]
        (counter.labels(**labels) if metric.labels else counter).inc(amount)

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Note one value of a histogram."""
        histogram = self._histograms[metric.name]
        (histogram.labels(**labels) if metric.labels else histogram).observe(value)


def _counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name, metric.help, metric.labels, registry=registry)


def _histogram(metric: Metric, registry: CollectorRegistry) -> Histogram:
    return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=metric.buckets)
