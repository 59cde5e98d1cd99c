"""The excitation node as a process of its own, before an ideal robot."""

from __future__ import annotations

import time

import numpy as np
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: F401 (loads its type support early)
from std_srvs.srv import SetBool, Trigger

from support import ideal_robot
from support.golden_problems import arm_urdf
from support.ros_session import PATIENCE
from sysid_ros.action import Excite
from sysid_ros.msg import ExcitationStatus, Heartbeat, StopRequest

MOVING = (ExcitationStatus.BLENDING, ExcitationStatus.PLAYING, ExcitationStatus.STOPPING)
# Machines that run tests are busy, and the robot is a thread of the test; its node goes first
# where that is allowed.
PATIENT = {
    'state_timeout': 1.0, 'heartbeat_timeout': 1.5, 'overrun': 0.1, 'realtime_priority': 20}


class Bench:
    """An excitation node, its robot, its monitor and its operator."""

    def __init__(self, ros, folder, **parameters):
        self.ros, self.folder = ros, folder
        self.plan, self.designer = ideal_robot.write_plan(folder, arm_urdf())
        self.joints = self.designer.limits.joint_names
        self.robot = ideal_robot.IdealRobot(ros, self.joints).begin()
        self.monitor = ideal_robot.PaperMonitor(ros).begin()
        self.parameters = {
            'plan': str(self.plan), 'data_folder': str(folder), **PATIENT, **parameters}
        self.statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
        self.stops = ros.client.create_publisher(StopRequest, 'sysid/stop', 10)

    def begin(self):
        self.process = self.start()
        self.ros.go_first()
        return self

    def start(self):
        process = self.ros.start('excitation_node', self.parameters)
        self.ros.wait(lambda: self.stops.get_subscription_count() > 0)
        self.ros.wait(lambda: self.phase() is not None)
        return process

    def phase(self):
        return self.statuses[-1].phase if self.statuses else None

    def arm(self, value=True):
        return self.ros.call(SetBool, 'excitation_node/arm', data=value)

    def stop(self):
        return self.ros.call(Trigger, 'excitation_node/stop')

    def excite(self, motion='wave', speed=1.0, feedback=None, **fields):
        return self.ros.send_goal(
            Excite, 'excitation_node/excite', feedback, motion=motion, speed_scale=speed, **fields)

    def result(self, handle):
        future = handle.get_result_async()
        self.ros.wait(future.done)
        return future.result()

    def play(self, motion='wave', **fields):
        """Arm, send a goal and wait until the robot moves; returns its handle.

        Tried again while a node that has just begun still misses something.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            assert self.arm().success
            handle = self.excite(motion, **fields)
            ended = handle.get_result_async()
            self.ros.wait(lambda: ended.done() or (  # noqa: B023
                self.phase() == ExcitationStatus.PLAYING and self.statuses[-1].progress > 0.005))
            if not ended.done():
                return handle
            result = ended.result().result
            assert result.code == 'not_ready' and time.monotonic() < deadline, result.message

    def refusal(self, motion='wave', **fields):
        """What a goal that does not start ends with."""
        answer = self.result(self.excite(motion, **fields))
        assert answer.status == GoalStatus.STATUS_ABORTED and not answer.result.success
        return answer.result

    def fault(self, words, handle):
        """The end of a motion that a fault ended; the robot brakes soon and rests."""
        result = self.result(handle).result
        assert (result.success, result.code) == (False, 'failed'), result.message
        assert words in result.message
        self.ros.wait(lambda: self.phase() == ExcitationStatus.HOLDING)
        assert words in self.statuses[-1].reason
        assert not np.any(self.robot.told[-1][1])
        self.require_quiet()
        return result

    def require_quiet(self):
        """What is still on its way tells it to rest, and then nothing is told any more."""
        begin, count, deadline = len(self.robot.told), -1, time.monotonic() + 5.0
        while count != len(self.robot.told):
            assert time.monotonic() < deadline
            count = len(self.robot.told)
            self.ros.spin(0.2)
        assert not any(v.any() for _, v in self.robot.told[begin:])

    def calm(self):
        """As at the beginning."""
        self.robot.rest()
        self.monitor.alive, self.monitor.state, self.monitor.message = True, Heartbeat.ACTIVE, ''
        self.stop()
        self.ros.wait(lambda: self.phase() not in MOVING)
        self.arm(False)
        # The monitor and the joint states are heard again.
        self.ros.spin(0.15)

    def close(self):
        self.robot.end()
        self.monitor.end()
