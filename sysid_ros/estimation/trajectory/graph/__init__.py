"""Factor graphs of multibody systems: motion, forces and parameters by one least squares."""
