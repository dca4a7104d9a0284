"""What the commands for people share: `session`, `tenant`, `account`, `breaker`, `jobs`."""
