"""Torque regressor of a seven-joint arm: our batched kernels against loops over Pinocchio.

The stack of all samples, and the normal matrix without the stack. Pinocchio has inertial columns
only, so the figures compare those; the time with torques and joint terms is printed beside.
"""

from __future__ import annotations

# isort: off
from _one_core import median_times

# isort: on
import json

import numpy as np
import pinocchio as pin
from _seven_joints import JOINTS, SAMPLES, arm, motion

from sysid_ros.dynamics.normal_equations import normal_equations
from sysid_ros.dynamics.regressor import inertial_regressor
from sysid_ros.dynamics.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.dynamics.torque_model import TorqueModel

STACK_BAR, FUSED_BAR = 4.0, 3.0


def figure(name, ours, theirs, bar):
    return {
        'name': name, 'value': ours, 'unit': 's', 'reference': theirs, 'ratio': theirs / ours,
        'bar': f'>= {bar} times faster', 'ok': theirs / ours >= bar,
    }


def main():
    robot = arm()
    q, v, a = motion()
    columns = 10 * JOINTS
    model = robot.pinocchio_model
    data = model.createData()

    def stack_loop():
        stack = np.empty((SAMPLES, JOINTS, columns))
        for k in range(SAMPLES):
            stack[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return stack

    def fused_loop():
        matrix = np.zeros((columns, columns))
        for k in range(SAMPLES):
            row = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
            matrix += row.T @ row
        return matrix

    plain = TorqueModel(robot)
    friction = TorqueModel(robot, [ViscousFriction(), CoulombFriction(), TorqueOffset()])
    # Our fused sums always include the torque's column.
    stack, fused, with_terms, stack_reference, fused_reference = median_times(
        lambda: inertial_regressor(robot, q, v, a),
        lambda: normal_equations(plain, q, v, a, a),
        lambda: normal_equations(friction, q, v, a, a),
        stack_loop, fused_loop,
    )
    difference = np.abs(normal_equations(plain, q, v, a, a).matrix - fused_loop()).max()
    print(f'{SAMPLES} samples, {JOINTS} joints: stack {1e3 * stack:.1f} ms, '
          f'loop over Pinocchio {1e3 * stack_reference:.1f} ms')
    print(f'normal matrix {1e3 * fused:.1f} ms, with {len(friction.terms)} terms per joint '
          f'{1e3 * with_terms:.1f} ms, loop over Pinocchio {1e3 * fused_reference:.1f} ms; '
          f'largest difference {difference:.1e}')
    print(json.dumps([
        figure('regressor stack', stack, stack_reference, STACK_BAR),
        figure('fused normal matrix', fused, fused_reference, FUSED_BAR),
    ]))


if __name__ == '__main__':
    main()
