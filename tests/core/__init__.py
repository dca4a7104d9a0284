"""Behaviour of the pure core, module by module."""
