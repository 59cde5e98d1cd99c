"""Closed loops: all joints of a robot from its driven ones."""
