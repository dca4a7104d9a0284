"""Each failure of the provider, rehearsed: stand-in, real SDK, real worker process, real server."""
