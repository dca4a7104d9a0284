"""The wire contract between hosts, store and workers: frozen models, JSON only."""
