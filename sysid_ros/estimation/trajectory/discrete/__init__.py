"""Rigid bodies that step through time with compliant constraints and dry friction."""
