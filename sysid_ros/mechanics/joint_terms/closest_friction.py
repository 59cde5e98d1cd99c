r"""The damping and dry friction that come closest to a friction law, joint by joint.

Robot descriptions know friction as :math:`d\,\dot q + f\,\mathrm{sign}(\dot q)` alone. Of a law
that grows ever less with speed, decays with it or grows with the load, one term more or less is
no approximation; the pair :math:`d, f \ge 0` with the smallest squared error over a motion is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.mechanics.joint_terms.terms import friction_fields, names_in, shape_fields
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.least_squares.nonnegative import nonnegative_least_squares

# So many samples of a motion tell two numbers.
_SAMPLES = 4000


@dataclass(frozen=True)
class ClosestFriction:
    """Damping and friction in place of a law.

    Attributes:
        damping: In [N·m·s/rad] or [N·s/m], zero or more.
        friction: In [N·m] or [N], zero or more.
        error: Root mean square of what is left, in parts of the law's.
    """

    damping: float
    friction: float
    error: float


def fields_of_laws() -> tuple[str, ...]:
    """Fields of friction laws that no description holds, amplitudes and shapes."""
    described = names_in('urdf')
    return (*(field for field in friction_fields() if field not in described), *shape_fields())


def closest_frictions(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
    minimum_velocity: float | Sequence[float] = 0.0,
) -> dict[str, ClosestFriction]:
    """Closest damping and friction of the joints whose law is another one.

    Args:
        model: The torque model.
        values: Its parameters, shape ``(p,)``.
        q: Positions of the motion to be close over in [rad] or [m], shape ``(T, n)``.
        v: Its velocities, which weigh by how often they come, shape ``(T, n)``.
        a: Its accelerations, shape ``(T, n)``.
        minimum_velocity: Slower samples of a joint do not count, in [rad/s] or [m/s]; one
            number, or one per joint.

    Returns:
        By joint; none of a robot with plain friction, or with closed loops, which has no other.
    """
    robot, names = model.robot, model.parameters.names
    laws = fields_of_laws()
    joints = [joint for joint in robot.joint_names
              if any(f'{joint}.{field}' in names for field in laws)]
    if robot.loops is not None or not joints:
        return {}
    some = np.unique(np.linspace(0, len(v) - 1, min(len(v), _SAMPLES)).round().astype(int))
    speed, first = v[some], 10 * len(robot.body_names)
    columns = model.at(values).term_regressor(q[some], speed, a[some])
    terms = dict(zip(names[first:], range(columns.shape[2]), strict=True))
    slowest = np.broadcast_to(np.asarray(minimum_velocity, dtype=float), speed.shape[1])
    found = {}
    for joint in joints:
        index = robot.joint_index(joint)
        own = [terms[name] for field in friction_fields() if (name := f'{joint}.{field}') in terms]
        law = columns[:, index, own] @ values[[first + k for k in own]]
        moving = (np.abs(speed[:, index]) >= slowest[index]) & (speed[:, index] != 0.0)
        if moving.any():
            found[joint] = _closest(speed[moving, index], law[moving])
    return found


def _closest(speed: np.ndarray, law: np.ndarray) -> ClosestFriction:
    """Non-negative least squares (Lawson and Hanson 1974) over samples of speed and torque."""
    columns = np.stack([speed, np.sign(speed)], axis=1)
    damping, friction = values = nonnegative_least_squares(columns, law)
    left, size = np.linalg.norm(columns @ values - law), np.linalg.norm(law)
    return ClosestFriction(
        float(damping), float(friction), float(left / size) if size > 0.0 else 0.0)


def frictions_to_json(frictions: Mapping[str, ClosestFriction]) -> dict[str, Any]:
    """Plain values by joint."""
    return {joint: vars(one) for joint, one in frictions.items()}


def frictions_from_json(data: Any) -> dict[str, ClosestFriction]:
    """The inverse of :func:`frictions_to_json`; none where the data is no such thing."""
    try:
        found = {
            str(joint): ClosestFriction(
                float(one['damping']), float(one['friction']), float(one['error']))
            for joint, one in data.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}
    return found if all(
        np.isfinite([one.damping, one.friction]).all() and min(one.damping, one.friction) >= 0.0
        for one in found.values()) else {}
