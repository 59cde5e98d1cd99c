"""Kinematic trees, one sample at a time: forward kinematics, RNEA, CRBA, derivatives."""
