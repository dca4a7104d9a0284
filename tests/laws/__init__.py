"""The laws of DESIGN as property tests over the pure core, one file a law."""
