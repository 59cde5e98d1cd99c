"""Playing a motion: from the permission to the measured rest, without ROS."""
