"""The identification node as a process of its own, a robot beside it, and what is asked of it."""

import subprocess
import sys
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState

from support import TESTS
from support.two_joint_robot import URDF
from sysid_ros.action import Identify
from sysid_ros.demo.node_processes import node_environment
from sysid_ros.msg import IdentificationStatus
from sysid_ros.srv import StartIdentification, StopIdentification

# How stages of a fit begin that has found a process.
WORKING = ('Loading the robot', 'Reading', 'Fitting', 'Writing')
SETTINGS = """\
robot: {urdf: robot.urdf}
processing: {differentiation: central, position_filter: {cutoff: 10.0},
             parallel_filter: {cutoff: 8.0, decimate_to: 20.0}}
fit: {estimator: entropic}
"""


class Setup:
    """The node, a robot beside it, and what is asked of the node."""

    def __init__(self, ros):
        self.ros = ros
        self.data = ros.folder / 'data'
        (ros.folder / 'robot.urdf').write_text(URDF)
        (ros.folder / 'settings.yaml').write_text(SETTINGS)
        self.statuses = ros.hear(IdentificationStatus, 'identification_node/status')
        self.diagnostics = ros.hear(DiagnosticArray, '/diagnostics')

    def node(self, **parameters):
        given = {'data_folder': str(self.data), 'status_rate': 5.0,
                 'settings': str(self.ros.folder / 'settings.yaml')}
        self.process = self.ros.start('identification_node', given | parameters)
        return self

    def recorder(self, **parameters):
        """The node without a process that is ready for fits, for what needs none: sooner there."""
        return self.node(fit_standby=False, **parameters)

    def state(self):
        """The lifecycle state of the node."""
        return self.ros.call(GetState, 'identification_node/get_state').current_state.label

    def active(self):
        """Wait until the node is active."""
        self.ros.wait(lambda: self.state() == 'active')
        return self

    def robot(self, *arguments):
        with (self.ros.folder / 'robot.log').open('ab') as output:
            self.ros.processes['robot'] = subprocess.Popen(
                [sys.executable, '-m', 'support.robot_publisher',
                 str(self.ros.folder / 'robot.urdf'), *map(str, arguments)],
                stdout=output, stderr=output, env=node_environment(self.ros.domain), cwd=TESTS,
                start_new_session=True)
        return self

    def start(self, recording=''):
        return self.ros.call(
            StartIdentification, 'identification_node/start', recording=recording)

    def started(self, recording=''):
        """Start as soon as the robot is heard."""
        answers = []

        def granted():
            answers.append(self.start(recording))
            return answers[-1].success

        self.ros.wait(granted)
        return answers[-1]

    def refused(self, sentence):
        """The refusal to start that holds a sentence."""
        answers = []

        def found():
            answers.append(self.start())
            return sentence in answers[-1].message

        self.ros.wait(found)
        assert not answers[-1].success
        return answers[-1]

    def stop(self):
        return self.ros.call(StopIdentification, 'identification_node/stop')

    def record(self, seconds, recording=''):
        self.started(recording)
        self.ros.wait(lambda: self.statuses and self.statuses[-1].duration > seconds)
        return self.stop()

    def identify(self, feedback=None, **fields):
        return self.ros.send_goal(
            Identify, 'identification_node/identify', feedback, **fields)

    def fitting(self, handle=None):
        """Handle of a goal, by default a new one, whose fit has begun; and its process."""
        handle = handle or self.identify()
        self.statuses.clear()
        # By the status, which is said again; feedback is not, and the first may find no listener.
        self.ros.wait(lambda: any(
            status.state & IdentificationStatus.FITTING and status.stage.startswith(WORKING)
            for status in self.statuses))
        (fit,) = children(self.process)
        return handle, fit

    def said(self, level, text):
        """Wait for a diagnostic."""
        def found():
            return any(
                status.level == level and text in status.message
                for array in self.diagnostics for status in array.status)

        self.ros.wait(found)


def children(process):
    """Processes that a node has started: of a fit, or ready for the next one."""
    found = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text()
    return [int(pid) for pid in found.split()]


def alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False
