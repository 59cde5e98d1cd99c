"""Least squares of a seven-joint arm: our tall-skinny QR with its rank against numpy.linalg.lstsq.

The rank is checked on the arm and on random robots, against rules that count joints and see
neither a regressor nor a motion.
"""

from __future__ import annotations

# isort: off
from _one_core import median_times

# isort: on
import json

import _support  # noqa: F401
import numpy as np
from _seven_joints import JOINTS, SAMPLES, SEED, arm, motion

from support.base_parameter_count import base_parameter_count
from support.robot_factory import random_urdf
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.robot.model import RobotModel

SECONDS_BAR, RATIO_BAR, ROBOTS = 0.100, 5.0, 100
# By the same rules: the first axis is along gravity and shows one moment of inertia, every other
# body shows seven of its parameters.
ARM_RANK = 1 + 7 * (JOINTS - 1)



def right_ranks():
    """How many random robots get the rank of the grouping rules, and the least gap."""
    right, least = 0, np.inf
    for seed in range(ROBOTS):
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed % 9))
        rows = inertial_regressor(robot, *random_motion(robot, 1000, seed))
        torque = rows @ robot.inertial_prior.reshape(-1)
        found = JointFactors.empty(*rows.shape[1:]).folded(rows, torque).rank()
        right += found.rank == base_parameter_count(robot.tree)
        least = min(least, found.gap[0] / max(found.gap[1], np.finfo(float).eps))
    return right, least


def main():
    regressor = inertial_regressor(arm(), *motion())
    torque = np.random.default_rng(SEED + 1).normal(size=(SAMPLES, JOINTS))
    rows, right = regressor.reshape(-1, 10 * JOINTS), torque.reshape(-1)
    empty = JointFactors.empty(JOINTS, 10 * JOINTS)

    ours, theirs = median_times(
        lambda: empty.folded(regressor, torque).rank(),
        lambda: np.linalg.lstsq(rows, right, rcond=None),
    )
    rank = empty.folded(regressor, torque).rank()
    right_robots, least_gap = right_ranks()
    print(f'{len(rows)} x {rows.shape[1]}: TSQR and rank {1e3 * ours:.1f} ms, '
          f'numpy.linalg.lstsq {1e3 * theirs:.1f} ms; rank {rank.rank}, pivots '
          f'{rank.gap[0]:.1e} and {rank.gap[1]:.1e}')
    print(f'{right_robots} of {ROBOTS} random robots with the right rank, '
          f'least gap {least_gap:.1e}')
    print(json.dumps([
        {'name': 'TSQR and rank', 'value': ours, 'unit': 's', 'reference': None, 'ratio': None,
         'bar': f'<= {SECONDS_BAR} s', 'ok': ours <= SECONDS_BAR},
        {'name': 'TSQR and rank against numpy.linalg.lstsq', 'value': ours, 'unit': 's',
         'reference': theirs, 'ratio': theirs / ours, 'bar': f'>= {RATIO_BAR} times faster',
         'ok': theirs / ours >= RATIO_BAR},
        {'name': 'rank of the arm', 'value': rank.rank, 'unit': 'parameters',
         'reference': ARM_RANK, 'ratio': None, 'bar': f'{ARM_RANK}', 'ok': rank.rank == ARM_RANK},
        {'name': 'random robots with the right rank', 'value': right_robots, 'unit': 'robots',
         'reference': 'grouping rules', 'ratio': None, 'bar': f'{ROBOTS}',
         'ok': right_robots == ROBOTS},
    ]))


if __name__ == '__main__':
    main()
