"""Numerics that know nothing of robots: compiling, dense algebra, spatial vectors, noise."""
