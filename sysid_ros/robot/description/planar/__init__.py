"""Planar mechanisms as robot descriptions."""
