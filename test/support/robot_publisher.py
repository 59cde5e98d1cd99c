"""A process that publishes the joint states of a moving two-joint robot, with faults on request."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from support.two_joint_robot import JOINTS, motion
from sysid_ros.recording.bag.joint_state_cdr import encode


def messages(options):
    """Serialized messages by topic, one a row."""
    q, v, tau = motion(options.urdf, options.rate, options.load)
    if options.without_effort:
        tau[:, JOINTS.index(options.without_effort)] = np.nan
    if options.nan_every:
        q[::options.nan_every] = np.nan
    own = [JOINTS.index(name) for name in options.joints]
    values = dict(zip(('position', 'velocity', 'effort'), (
        array[:, own] for array in (q, v, tau)), strict=True))
    zero = np.zeros(len(q), dtype=np.int64)
    if not options.efforts_apart:
        return {'joint_states': encode(zero, options.joints, values)}
    efforts = {'position': None, 'velocity': None, 'effort': values['effort']}
    return {
        'joint_states': encode(zero, options.joints, values | {'effort': None}),
        'efforts': encode(zero, options.joints, efforts),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('urdf', type=Path)
    parser.add_argument('--rate', type=float, default=200.0)
    parser.add_argument('--joints', nargs='+', default=list(JOINTS))
    parser.add_argument('--without-effort', default='')
    parser.add_argument('--nan-every', type=int, default=0)
    parser.add_argument('--load', type=float, default=0.0)
    parser.add_argument('--zero-stamps', action='store_true')
    parser.add_argument('--efforts-apart', action='store_true')
    parser.add_argument('--best-effort', action='store_true')
    options = parser.parse_args()
    tables = messages(options)
    rclpy.init()
    node = Node('robot_publisher')
    reliability = (
        ReliabilityPolicy.BEST_EFFORT if options.best_effort else ReliabilityPolicy.RELIABLE)
    publishers = {
        topic: node.create_publisher(
            JointState, topic, QoSProfile(depth=100, reliability=reliability))
        for topic in tables
    }
    begin, clock = time.monotonic(), time.time_ns()
    sent = 0
    while True:
        while sent < (time.monotonic() - begin) * options.rate:
            for topic, rows in tables.items():
                row = rows[sent % len(rows)].copy()
                if not options.zero_stamps:
                    # When it was measured, not when this process had time to say so.
                    measured = clock + round(sent * 1e9 / options.rate)
                    stamp = np.array(divmod(measured, 10**9), dtype='<u4')
                    row[4:12] = stamp.view(np.uint8)
                publishers[topic].publish(row.tobytes())
            sent += 1
        time.sleep(0.5 / options.rate)


if __name__ == '__main__':
    sys.exit(main())
