"""`ebbtide session`: looks at sessions by hand, withdraws versions, forgets sessions."""
