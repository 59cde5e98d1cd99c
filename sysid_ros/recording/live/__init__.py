"""Joint states as they come in."""
