"""Pages of a robot that is operated; what they show is in :mod:`sysid_ros.studio.live`."""
