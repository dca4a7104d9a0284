"""The worker: takes jobs from the ready index, makes summaries of them, publishes or settles."""
