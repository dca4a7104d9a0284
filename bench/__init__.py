"""Benchmarks: programs that print one table each, every ratio measured side by side in one run."""
