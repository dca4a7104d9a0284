"""Hypothesis strategies that the project's tests share; none of them uses the project's own code."""
