"""What a buffer stands for: canonical form, chain, marks, exchanges, reading a buffer."""
