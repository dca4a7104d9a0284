"""The state protocol: a pure model, and the real store driven beside it."""
