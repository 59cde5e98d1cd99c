"""The front door in Python: what the verbs of the terminal do, by stable names of ``sysid_ros``."""
