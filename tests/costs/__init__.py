"""What things cost, as counts: round trips and bytes are asserted, so that nobody adds one unseen."""
