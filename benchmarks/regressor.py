"""Torque regressor of a seven-joint arm: our batched kernel against a loop over Pinocchio."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from sysid_ros.dynamics.regressor import inertial_regressor
from sysid_ros.robot.model import RobotModel

SAMPLES, JOINTS, REPEATS, SEED = 30_000, 7, 5, 0
BAR = 4.0


def arm() -> RobotModel:
    """A serial arm with axes that alternate, as in most seven-joint arms."""
    links, joints = ['<link name="link0"/>'], []
    for k in range(1, JOINTS + 1):
        axis = '0 0 1' if k % 2 else '0 1 0'
        links.append(
            f'<link name="link{k}"><inertial><origin xyz="0.01 0.02 0.1"/><mass value="2"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>'
        )
        joints.append(
            f'<joint name="joint{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="0 0 0.2"/><axis xyz="{axis}"/>'
            '<limit lower="-2" upper="2" velocity="2" effort="100"/></joint>'
        )
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(links + joints)}</robot>')


def median_time(work: Callable[[], object]) -> float:
    """Median time of a few runs in [s], after one to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    robot = arm()
    q, v, a = np.random.default_rng(SEED).normal(size=(3, SAMPLES, JOINTS))
    model = robot.pinocchio_model
    data = model.createData()

    def loop() -> np.ndarray:
        stack = np.empty((SAMPLES, JOINTS, 10 * JOINTS))
        for k in range(SAMPLES):
            stack[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return stack

    ours = median_time(lambda: inertial_regressor(robot, q, v, a))
    theirs = median_time(loop)
    print(f'{SAMPLES} samples, {JOINTS} joints: kernel {1e3 * ours:.1f} ms, '
          f'loop over Pinocchio {1e3 * theirs:.1f} ms')
    print(json.dumps([{
        'name': 'regressor stack', 'value': ours, 'unit': 's', 'reference': theirs,
        'ratio': theirs / ours, 'bar': f'>= {BAR} times faster', 'ok': theirs / ours >= BAR,
    }]))


if __name__ == '__main__':
    main()
