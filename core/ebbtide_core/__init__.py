"""Pure rules, wire contract and shared state store of Ebbtide; import from its modules."""
