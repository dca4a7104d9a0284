"""`ebbtide demo`: a long coding session, written here, replayed through an embedded pool."""
