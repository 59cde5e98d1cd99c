"""Identification of robot dynamics, from a recording to parameters that physics allows.

The sub-packages are the steps of the workflow, in order: ``robot``, ``dynamics``, ``recording``,
``estimation``, ``evaluation``, ``release`` and ``report``; ``cli`` and ``nodes`` run them.
``msg`` is generated from the interface definitions and is the only part that needs ROS 2 besides
``nodes``.
"""

import pkgutil

__version__ = '0.1.0'

# Started in the source tree, these files are found before the installed package, which has the
# generated interfaces: let sysid_ros.msg be found there.
__path__ = pkgutil.extend_path(__path__, __name__)
