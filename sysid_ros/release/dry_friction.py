"""Parameters for simulators, whose dry friction changes its sign at once.

What was found belongs to a sign that is smoothed over a velocity, and a simulator that has none of
it moves otherwise. The fit leaves the values by which dry friction makes the same motion; see
:mod:`sysid_ros.estimation.trajectory.friction_law_error`.
"""

from __future__ import annotations

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.trajectory.friction_law_error import DRY_FRICTION
from sysid_ros.robot.parameters import ParameterSet

# Changes below this part of a value are not worth a word.
_WORTH = 1e-3


def dry_friction_parameters(estimate: Estimate) -> tuple[ParameterSet, tuple[str, ...]]:
    """Parameters by which dry friction makes the motion of an estimate, and what to know of them.

    Args:
        estimate: The estimate; its own parameters stand where the fit left no others.
    """
    parameters, given = estimate.parameters, estimate.provenance.get(DRY_FRICTION)
    values = parameters.values.copy()
    try:
        for name, value in dict(given or {}).items():
            values[parameters.index(name)] = float(value)
        dry = parameters.with_values(values)
    except (SysidError, TypeError, ValueError):
        return parameters, ()
    changes = {
        name: abs(new / old - 1.0)
        for name, old, new in zip(parameters.names, parameters.values, values, strict=True)
        if old != 0.0 and new != old}
    most = max(changes, key=lambda name: changes[name], default=None)
    if most is None or changes[most] < _WORTH:
        return dry, ()
    return dry, (
        'Friction of simulators changes its sign at once, that of the fit over a velocity: written '
        'are the values by which dry friction makes the same motion, at most '
        f'{100.0 * changes[most]:.2g} % from the estimate ({most}).',)
