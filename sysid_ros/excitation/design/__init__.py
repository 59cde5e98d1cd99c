"""Optimal excitation: families of motions, constraints, information."""
