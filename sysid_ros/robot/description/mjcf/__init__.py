"""MJCF, as MuJoCo itself compiles it."""
