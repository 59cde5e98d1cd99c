"""A robot, and what moves and watches it: the nodes as processes of their own, or most in one."""

from __future__ import annotations

import signal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from support import ideal_robot
from support.golden_problems import arm_urdf
from sysid_ros.action import Excite
from sysid_ros.msg import ExcitationStatus, Heartbeat, StopRequest

# Machines that run tests are busy, and the robot is a thread of the test; its nodes go first
# where that is allowed.
PATIENT = {'state_timeout': 1.0, 'heartbeat_timeout': 1.5, 'realtime_priority': 20}


SETTINGS = """\
robot: {urdf: arm.urdf}
fit: {estimator: entropic}
"""


class Guarded:
    """A monitor, an excitation node and a robot that does what it is told.

    Args:
        ros: The session.
        folder: Of plan, motions, recordings and revisions.
        composed: Whether the excitation node shares a process with model server and
            identification; otherwise these are absent.
    """

    def __init__(self, ros, folder, *, composed=False):
        self.ros, self.composed = ros, composed
        self.plan, designer = ideal_robot.write_plan(folder, arm_urdf())
        self.joints, self.folder = designer.limits.joint_names, folder
        self.robot = ideal_robot.IdealRobot(ros, self.joints).begin()
        self.beats = ros.hear(Heartbeat, 'sysid/heartbeat', 100)
        self.statuses = ros.hear(ExcitationStatus, 'excitation_node/status', 100)
        self.requests = ros.hear(StopRequest, 'sysid/stop', 100)
        self.trajectories = ros.hear(JointTrajectory, 'joint_trajectory', 10)
        self.reports = ros.hear(DiagnosticArray, '/diagnostics', 100)

    def begin(self):
        self.start('monitor_node')
        self.start('excitation_node')
        self.ros.go_first()
        return self

    def start(self, name):
        given = {'plan': str(self.plan), **PATIENT}
        if name == 'excitation_node':
            given |= {'data_folder': str(self.folder), 'overrun': 0.1}
        else:
            given |= {
                'cancel_actions': ['controller/follow_joint_trajectory'], 'first_residual': 0.3}
        if self._key(name) == name:
            self.ros.start(name, given)
        else:
            self._start_together(given)
        self.beats.clear()
        self.ros.wait(lambda: self.state(name) == Heartbeat.ACTIVE)

    def _start_together(self, excitation):
        settings = self.folder / 'settings.yaml'
        settings.write_text(SETTINGS)
        self.ros.start_together({
            'identification_node': {'settings': str(settings), 'data_folder': str(self.folder)},
            'model_server': {'robot': str(settings), 'data_folder': str(self.folder)},
            'excitation_node': excitation})

    def _key(self, name):
        return 'sysid_nodes' if self.composed and name != 'monitor_node' else name

    def stop(self, name, number=signal.SIGKILL):
        """Send a signal to the process of a node; returns its exit code."""
        return self.ros.stop(self._key(name), number)

    def runs(self, name):
        """Whether the process of a node is there."""
        return self.ros.processes[self._key(name)].poll() is None

    def state(self, name):
        return next((beat.state for beat in reversed(self.beats) if beat.node == f'/{name}'), None)

    def play(self):
        assert self.ros.call(SetBool, 'excitation_node/arm', data=True).success
        handle = self.ros.send_goal(
            Excite, 'excitation_node/excite', motion='long', speed_scale=1.0)
        self.ended = handle.get_result_async()
        self.ros.wait(lambda: self.ended.done() or (
            bool(self.statuses) and self.statuses[-1].phase == ExcitationStatus.PLAYING
            and self.statuses[-1].progress > 0.005))
        assert not self.ended.done(), self.ended.result().result.message
        assert not self.requests

    def reset(self):
        return self.ros.call(Trigger, 'monitor_node/reset')

    def calm(self):
        self.robot.rest()
        for name in ('excitation_node', 'monitor_node'):
            if not self.runs(name):
                self.start(name)
        self.ros.call(Trigger, 'excitation_node/stop')
        self.ros.wait(lambda: self.reset().success)
        self.ros.wait(lambda: self.state('monitor_node') == Heartbeat.ACTIVE)
        self.ros.wait(lambda: self.state('excitation_node') == Heartbeat.ACTIVE)
        self.wait_for_words('silent for 0.')
        for heard in (self.requests, self.trajectories, self.reports, self.statuses):
            heard.clear()

    def wait_for_words(self, words):
        """Until the excitation node says this of the monitor that it hears."""
        self.reports.clear()
        self.ros.wait(lambda: any(
            value.key == 'monitor' and words in value.value
            for array in self.reports for report in array.status
            if report.name == '/excitation_node' for value in report.values))

    def require_found(self, words):
        """The monitor asks for a stop with these words until the robot rests, and remembers."""
        self.ros.wait(lambda: len(self.requests) > 2)
        assert any(words in reason for reason in self.requests[0].reasons), self.requests[0].reasons
        assert self.requests[0].source == '/monitor_node'
        self.ros.wait(lambda: self.trajectories and not self.trajectories[-1].points)
        self.ros.wait(lambda: self.state('monitor_node') == Heartbeat.ERROR)
        self.ros.wait(lambda: any(
            (report.name, report.level) == ('/monitor_node', DiagnosticStatus.ERROR)
            and words in report.message for array in self.reports for report in array.status))

    def require_stopped(self, words):
        """The excitation ends by it, too."""
        self.ros.wait(self.ended.done)
        result = self.ended.result().result
        assert result.code == 'failed' and words in result.message, result.message
