"""What the model is told of the compacted part: its structure, its message, how it is made and checked."""
