"""Tests of the chaos program: what it does to a fleet, and that its checks can fail."""
