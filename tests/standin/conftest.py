"""The stand-in for its own tests."""

from tests.standin.fixture import standin

__all__ = ["standin"]
