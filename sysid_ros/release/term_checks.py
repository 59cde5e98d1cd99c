"""Joint terms that no description may be given."""

from __future__ import annotations

from sysid_ros.errors import ReleaseError
from sysid_ros.mechanics.joint_terms.terms import names_in
from sysid_ros.robot.parameters import ParameterSet

# A bound that holds counts as kept to this part of it.
_BOUND_TOLERANCE = 1e-9


def require_plausible_terms(parameters: ParameterSet) -> None:
    """Refuse frictions and drive inertias that are negative, or larger than they may be.

    Args:
        parameters: Identified parameters.

    Raises:
        ReleaseError: The first such one.
    """
    described = names_in('mjcf')
    for name, value, upper in zip(
            parameters.names, parameters.values, parameters.upper, strict=True):
        owner, _, field = name.rpartition('.')
        if field in described and value < 0.0:
            raise ReleaseError(
                f'{field} is negative', where=owner, found=f'{value:.6g}',
                allowed='zero or more', fix='Use a physically consistent estimator',
            )
        if field in described and value > upper * (1.0 + _BOUND_TOLERANCE):
            raise ReleaseError(
                f'{field} is larger than plausible', where=owner, found=f'{value:.6g}',
                allowed=f'{upper:.6g} or less', fix='Use a physically consistent estimator',
            )
