"""Torque regressor of a seven-joint arm: our batched kernels against a loop over Pinocchio.

Pinocchio has inertial columns only, so those are compared.
"""

from __future__ import annotations

# isort: off
from _one_core import median_times

# isort: on
import json

import numpy as np
import pinocchio as pin
from _seven_joints import JOINTS, SAMPLES, arm, motion

from sysid_ros.mechanics.regressor.regressor import inertial_regressor

BAR = 4.0


def main():
    robot = arm()
    q, v, a = motion()
    model = robot.pinocchio_model
    data = model.createData()

    def stack_loop():
        stack = np.empty((SAMPLES, JOINTS, 10 * JOINTS))
        for k in range(SAMPLES):
            stack[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return stack

    ours, theirs = median_times(lambda: inertial_regressor(robot, q, v, a), stack_loop)
    print(f'{SAMPLES} samples, {JOINTS} joints: stack {1e3 * ours:.1f} ms, '
          f'loop over Pinocchio {1e3 * theirs:.1f} ms')
    print(json.dumps([{
        'name': 'regressor stack', 'value': ours, 'unit': 's', 'reference': theirs,
        'ratio': theirs / ours, 'bar': f'>= {BAR} times faster', 'ok': theirs / ours >= BAR,
    }]))


if __name__ == '__main__':
    main()
