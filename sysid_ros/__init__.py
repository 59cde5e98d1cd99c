"""Identification of robot dynamics, from a recording to parameters that physics allows.

The names of ``__all__`` are the front door, and stay as they are (``docs/python.md``)::

    import sysid_ros as si

    fit = si.fit('robot.urdf', si.Recording.from_arrays(t, q, tau))
    print(fit)
    fit.report('report.html')
    fit.export('robot_identified.urdf')

They are imported when they are used: ``import sysid_ros`` alone loads nothing. The sub-packages are
the steps of the work (``docs/architecture.md``); ``msg``, ``srv`` and ``action`` are generated from
the interface definitions and are the only parts that need ROS 2 besides ``nodes``.
"""

import importlib
import pkgutil
from importlib.metadata import version as _installed
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sysid_ros.api.motion import excite
    from sysid_ros.api.recording import Recording
    from sysid_ros.api.run import ParameterEstimate, Run
    from sysid_ros.api.settings import Settings
    from sysid_ros.api.verbs import export, fit, payload, validate
    from sysid_ros.errors import (
        ConfigurationError,
        EstimationError,
        ModelError,
        RecordingError,
        ReleaseError,
        SysidError,
    )
    from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
    from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
    from sysid_ros.evaluation.verdict import Verdict
    from sysid_ros.excitation.excitation import Excitation
    from sysid_ros.robot.model import RobotModel
    from sysid_ros.runs.validation import Validation

__all__ = [
    'ConfigurationError',
    'Estimate',
    'EstimationError',
    'Excitation',
    'Knowledge',
    'ModelError',
    'ParameterEstimate',
    'PayloadEstimate',
    'Recording',
    'RecordingError',
    'ReleaseError',
    'RobotModel',
    'Run',
    'Settings',
    'Status',
    'SysidError',
    'Validation',
    'Verdict',
    'excite',
    'export',
    'fit',
    'payload',
    'validate',
]

# Where each public name is, the same as checkers read above.
_MODULES = {
    'api.motion': ('excite',),
    'api.recording': ('Recording',),
    'api.run': ('ParameterEstimate', 'Run'),
    'api.settings': ('Settings',),
    'api.verbs': ('export', 'fit', 'payload', 'validate'),
    'errors': (
        'ConfigurationError', 'EstimationError', 'ModelError', 'RecordingError', 'ReleaseError',
        'SysidError'),
    'estimation.estimate': ('Estimate', 'Knowledge', 'Status'),
    'estimation.payload.payload_estimate': ('PayloadEstimate',),
    'evaluation.verdict': ('Verdict',),
    'excitation.excitation': ('Excitation',),
    'robot.model': ('RobotModel',),
    'runs.validation': ('Validation',),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

# Ubuntu's own would end in a name that cannot be imported, somewhere below.
if (_found := _installed('pydantic')).startswith(('0.', '1.')):
    raise ImportError(
        f'pydantic {_found} was found, but 2.6 or later is needed. In a ROS distribution it is in '
        'the environment of docs/how-to/install.md: activate that, and for ros2 export '
        "PYTHONPATH=$(python3 -c 'import site; print(site.getsitepackages()[0])'):$PYTHONPATH")

__version__ = '0.1.0'

# Started in the source tree, these files are found before the installed package, which has the
# generated interfaces: let sysid_ros.msg be found there.
__path__ = pkgutil.extend_path(__path__, __name__)


if not TYPE_CHECKING:  # so that checkers still find names that do not exist
    def __getattr__(name: str) -> object:
        """A public name, whose module is imported now."""
        if name not in _MODULE_OF:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        value = getattr(importlib.import_module(f'{__name__}.{_MODULE_OF[name]}'), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """The public names, and the sub-packages that were imported."""
        return sorted({*__all__, *(name for name in globals() if not name.startswith('_')),
                       '__version__'} - {'importlib', 'pkgutil', 'TYPE_CHECKING'})
