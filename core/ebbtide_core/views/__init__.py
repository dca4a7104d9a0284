"""Smaller views of a buffer for one turn; the buffer itself is never changed by them."""
