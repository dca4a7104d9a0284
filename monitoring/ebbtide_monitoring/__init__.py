"""Ebbtide's metrics in Prometheus form."""
