"""Parameters of a robot that moves, row by row."""
