"""Faults that users of other compactors met: each with the smallest conversation that showed it."""
