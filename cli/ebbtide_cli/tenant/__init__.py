"""`ebbtide tenant`: what tenants may have and how they are served, declared in a file."""
