"""`ebbtide cost`: what recorded sessions would have cost under several ways to compact them."""
