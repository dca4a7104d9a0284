"""The shared state store: one typed call a Lua script, run by a sync and an async client."""
