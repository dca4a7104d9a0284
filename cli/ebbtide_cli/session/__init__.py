"""`ebbtide session`: looks at sessions by hand, withdraws versions, sets modes, forgets sessions."""
