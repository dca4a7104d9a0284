"""Other projects that benchmarks stand beside: each in an environment of its own, never in ours."""
