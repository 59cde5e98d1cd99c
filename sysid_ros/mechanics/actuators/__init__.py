"""What turns commands into joint torques."""
