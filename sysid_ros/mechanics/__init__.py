"""How the robot moves: regressors, joint terms, transmissions and base parameters."""
