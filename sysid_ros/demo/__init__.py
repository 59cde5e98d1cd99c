"""The demonstration: a simulated robot, its recording, and the report of the whole loop."""
