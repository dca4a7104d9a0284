"""One turn: what it measures, asks, decides, applies and sends, and what a session remembers for the next."""
