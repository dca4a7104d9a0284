"""`ebbtide replay`: drives hosts over recorded transcripts and accounts for every turn."""
