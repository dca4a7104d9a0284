"""`ebbtide doctor`: looks at everything a pool needs, and says what to do."""
