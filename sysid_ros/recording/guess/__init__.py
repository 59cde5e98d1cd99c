"""Guesses, with their evidence, of what a recording holds and in which units."""
