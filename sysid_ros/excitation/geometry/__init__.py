"""Distances between bodies of the robot and what stands around it."""
