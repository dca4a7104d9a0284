"""Summarisers behind one protocol, and the registry that makes them by name."""
