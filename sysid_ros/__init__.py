"""Identification of robot dynamics, from a recording to parameters that physics allows.

The sub-packages are the steps of the workflow, in order: ``robot``, ``dynamics``, ``recording``,
``estimation``, ``evaluation``, ``release`` and ``report``; ``cli`` and ``nodes`` run them.
``msg`` is generated from the interface definitions and is the only part that needs ROS 2 besides
``nodes``.
"""

import pkgutil
from importlib.metadata import version as _installed

# Ubuntu's own would end in a name that cannot be imported, somewhere below.
if (_found := _installed('pydantic')).startswith(('0.', '1.')):
    raise ImportError(
        f'pydantic {_found} was found, but 2.6 or later is needed. In a ROS distribution it is in '
        'the environment of the README (Install): activate that, and for ros2 export '
        "PYTHONPATH=$(python3 -c 'import site; print(site.getsitepackages()[0])'):$PYTHONPATH")

__version__ = '0.1.0'

# Started in the source tree, these files are found before the installed package, which has the
# generated interfaces: let sysid_ros.msg be found there.
__path__ = pkgutil.extend_path(__path__, __name__)
