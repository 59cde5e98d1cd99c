"""Torques at the joints beside rigid-body dynamics."""
