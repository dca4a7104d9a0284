"""What is shown of sessions while they run: a bar for each against both watermarks, and what happens."""
