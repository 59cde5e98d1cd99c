"""Loads: what hangs on the last link, and what is known of it."""
