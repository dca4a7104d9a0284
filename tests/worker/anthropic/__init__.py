"""The anthropic summariser: the real SDK against the stand-in."""
