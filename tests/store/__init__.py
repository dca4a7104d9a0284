"""The store's scripts against a real server."""
