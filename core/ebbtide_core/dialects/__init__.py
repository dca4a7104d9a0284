"""What differs between providers' message formats; everything else in core is dialect-free."""
