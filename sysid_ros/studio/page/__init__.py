"""What the operator's page looks like; these modules alone need NiceGUI, ``sysid-ros[studio]``."""
