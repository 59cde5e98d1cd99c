"""What the actuators of a compiled MJCF drive, and how strongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sysid_ros.robot.description.mjcf.source import CompiledMjcf

# MuJoCo's numbers: transmissions to a joint, a fixed gain, no bias and one of position and
# velocity, no filter of commands and two ways to integrate one.
_AT_JOINT, _FIXED, _NONE, _AFFINE, _FILTERS = (0, 1), 0, 0, 1, (0, 2, 3)


class DescribedServo(NamedTuple):
    """Position control of a joint: a torque kp (u - q) - kd v.

    Attributes:
        kp: Stiffness in [N·m/rad] or [N/m].
        kd: Damping in [N·m·s/rad] or [N·s/m].
        time_constant: That of a filter of first order before the command in [s], 0 for none.
    """

    kp: float
    kd: float
    time_constant: float


def _at_joints(source: CompiledMjcf) -> Iterator[tuple[int, str]]:
    model = source.model
    for index in range(model.nu):
        if model.actuator_trntype[index] in _AT_JOINT:
            yield index, source.name('joint', model.actuator_trnid[index, 0])


def actuated_joints(source: CompiledMjcf) -> tuple[str, ...]:
    """Joints that an actuator acts on, each once, in the order of the document.

    Args:
        source: The MJCF.
    """
    return tuple(dict.fromkeys(name for _, name in _at_joints(source)))


def actuator_limits(source: CompiledMjcf) -> dict[str, float]:
    """Largest torque in [N·m] or force in [N] that the actuators of a joint give together.

    A joint with an actuator that does not say how strong it is has no entry.

    Args:
        source: The MJCF.
    """
    model, limits = source.model, dict[str, float]()
    for index, joint in _at_joints(source):
        strength = _largest(model.actuator_forcerange[index], model.actuator_forcelimited[index])
        if model.actuator_gaintype[index] == _FIXED and model.actuator_biastype[index] == _NONE:
            # A motor gives its command, so that limits it as well.
            command = _largest(model.actuator_ctrlrange[index], model.actuator_ctrllimited[index])
            strength = float(np.fmin(strength, abs(model.actuator_gainprm[index, 0]) * command))
        gear = abs(float(model.actuator_gear[index, 0]))
        limits[joint] = limits.get(joint, 0.0) + gear * strength
    return {joint: limit for joint, limit in limits.items() if np.isfinite(limit)}


def position_servos(source: CompiledMjcf) -> dict[str, DescribedServo]:
    """Joints whose only actuator holds them to the position that it is told, by name.

    Args:
        source: The MJCF.
    """
    model, found = source.model, dict[str, DescribedServo]()
    actuators = list(_at_joints(source))
    driven = [joint for _, joint in actuators]
    for index, joint in actuators:
        kp = float(model.actuator_gainprm[index, 0])
        offset, stiffness, damping = (float(value) for value in model.actuator_biasprm[index, :3])
        is_servo = (
            driven.count(joint) == 1 and kp > 0.0 and model.actuator_gear[index, 0] == 1.0
            and model.actuator_gaintype[index] == _FIXED
            and model.actuator_biastype[index] == _AFFINE
            and (offset, stiffness) == (0.0, -kp) and damping <= 0.0
            and model.actuator_dyntype[index] in _FILTERS)
        if is_servo:
            filters = model.actuator_dyntype[index] != _NONE
            found[joint] = DescribedServo(
                kp, -damping, float(model.actuator_dynprm[index, 0]) if filters else 0.0)
    return found


def _largest(values: np.ndarray, limited: bool) -> float:
    return float(np.max(np.abs(values))) if limited else np.nan
