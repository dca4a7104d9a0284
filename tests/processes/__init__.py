"""Real processes: hosts here, an embedded server and workers as users start them, some of them killed."""
