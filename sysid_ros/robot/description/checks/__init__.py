"""Checks of a description before any loader sees it."""
