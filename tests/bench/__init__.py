"""Tests of the benchmarks: that they run and count right, never how fast anything is."""
