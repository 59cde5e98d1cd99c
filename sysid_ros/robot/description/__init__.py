"""Descriptions of robots as files: URDF, xacro, SRDF, MJCF, and what they say."""
