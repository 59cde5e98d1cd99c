"""What is identified: the robot model, its parameters, and the geometry of its inertias."""
