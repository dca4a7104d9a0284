"""Real transcripts through a real pool."""
