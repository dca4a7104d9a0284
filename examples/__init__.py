"""Agent loops to copy from: run one with `python -m examples.anthropic_loop --help`."""
