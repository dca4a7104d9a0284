"""What the commands for people share: `session`, `tenant`, `breaker`, `jobs`."""
