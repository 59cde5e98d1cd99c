"""A process that commands an arm with position servos in MuJoCo, and publishes what it does."""

import sys
import time

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from support import actuated_arm as arm
from sysid_ros.nodes.conversions import to_time

# Length of the motion, and time from rest to motion and back, in [s].
SECONDS, RAMP = 8.0, 0.5


def played():
    """Commands and encoder readings of a motion from rest to rest, shape ``(T, 2)`` each."""
    t = np.arange(round(SECONDS * arm.RATE)) / arm.RATE
    ramp = np.clip(np.minimum(t, t[-1] - t - RAMP) / RAMP, 0.0, 1.0)
    command = arm.commanded(t, 1.0) * (ramp**2 * (3.0 - 2.0 * ramp))[:, None]
    q = arm.simulated(arm.plant(), command, command[0])
    count = 2.0 * np.pi / 16384
    return command, np.round(q / count) * count


def main():
    command, q = played()
    rclpy.init()
    node = Node('servo_arm')
    kind = JointTrajectory
    if '--controller' in sys.argv:
        # What joint_trajectory_controller says of itself where goals come by an action.
        from control_msgs.msg import JointTrajectoryControllerState as kind  # noqa: N813
    states = node.create_publisher(JointState, 'joint_states', 100)
    commands = node.create_publisher(kind, 'arm_controller/commands', 100)
    begin, clock, sent = time.monotonic(), time.time_ns(), 0
    # It rests until it is listened to, so that the whole motion is heard.
    heard = None
    while True:
        while sent < (time.monotonic() - begin) * arm.RATE:
            if heard is None and commands.get_subscription_count():
                heard = sent + round(arm.RATE)
            row = 0 if heard is None else min(max(sent - heard, 0), len(q) - 1)
            # When it was commanded and measured, not when this process had time to say so.
            stamp = to_time(clock + round(sent * 1e9 / arm.RATE))
            point = JointTrajectoryPoint(positions=command[row].tolist())
            told = kind(joint_names=list(arm.JOINTS), **(
                {'points': [point]} if kind is JointTrajectory else {'reference': point}))
            message = JointState(name=list(arm.JOINTS), position=q[row].tolist())
            told.header.stamp = message.header.stamp = stamp
            commands.publish(told)
            states.publish(message)
            sent += 1
        time.sleep(0.2 / arm.RATE)


if __name__ == '__main__':
    sys.exit(main())
