"""Limits, braking, and the monitor that stops a robot."""
