"""Sections of a report: a class with what it says, its figures, and a template beside it."""
