"""Recursive estimators."""
