"""The workflow on ROS 2: convert, call, publish; no mathematics."""
