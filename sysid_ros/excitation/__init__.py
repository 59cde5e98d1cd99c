"""How the robot is moved: trajectories, their optimal design, and what keeps them safe."""
