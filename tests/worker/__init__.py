"""The worker, in process against the embedded server, and as real processes."""
