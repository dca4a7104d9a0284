"""The `ebbtide` command, the embedded server, and replay; import from its modules."""
