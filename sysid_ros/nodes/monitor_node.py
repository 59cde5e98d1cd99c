"""A process that watches everything that moves the robot, and stops it all when it must.

What it finds it says again and again until the robot is at rest: a request to stop, heard by every
node of this package; goals of trajectory controllers are taken back; trajectory topics get an
empty trajectory. Where the excitation brakes the robot these two wait for that, for no longer than
braking can take. What it found stays found until a person resets it. It is software, and no
substitute for a safety-rated stop.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.errors import ConfigurationError, ExcitationError, SysidError
from sysid_ros.msg import StopRequest
from sysid_ros.nodes.monitor_settings import MonitorNodeSettings
from sysid_ros.nodes.node import STOP_TOPIC, SysidNode, now
from sysid_ros.nodes.process import run

if TYPE_CHECKING:
    from sysid_ros.nodes.monitored_robot import MonitoredRobot

# Times in [s] between requests to stop, between goals being taken back, and between searches for
# controllers; and for how long requests go on at least.
_REQUEST, _CANCEL, _SEARCH, _LEAST = 0.05, 0.2, 1.0, 0.5
_TRAJECTORY = 'control_msgs/action/FollowJointTrajectory_SendGoal'
_SEND, _CANCEL_GOAL, _STATUS = (
    '/_action/send_goal', '/_action/cancel_goal', '/_action/status')


class MonitorNode(SysidNode[MonitorNodeSettings]):
    """The node; see ``config/monitor_node.yaml``."""

    settings_class: ClassVar[type[MonitorNodeSettings]] = MonitorNodeSettings

    def __init__(self) -> None:
        self._robot: MonitoredRobot | None = None
        self._reasons: tuple[str, ...] = ()
        super().__init__('monitor_node')

    # Lifecycle

    def configure(self) -> None:
        """Load the robot, and listen to everybody."""
        # Pinocchio and the compiled functions: no part of a process that waits for its turn.
        from sysid_ros.nodes.monitored_robot import MonitoredRobot

        settings = self.settings
        if not settings.plan:
            raise ConfigurationError(
                'there is no robot', where='plan', found='nothing',
                fix="Name a settings file of 'sysid excite'",
            )
        robot = MonitoredRobot(self)
        self._reasons = ()
        self._since = self._requested = self._cancelled = self._searched = -np.inf
        self._checked, self._longest = np.inf, 0.0
        self._cancels: dict[str, Any] = {}
        if settings.cancel == 'all':
            self.get_logger().warning(
                'cancel is all: at a stop the goals of every robot in the ROS domain are taken '
                'back, those of other namespaces as well.')
        self._stop = self.advertise(StopRequest, STOP_TOPIC)
        self._trajectories = [
            self.advertise(JointTrajectory, topic) for topic in settings.trajectory_topics]
        self.keep(self.destroy_service, self.create_service(Trigger, '~/reset', self._reset))
        # The first line of a log takes long. It is not the one of the first finding.
        self.get_logger().info(f'Watching {", ".join(robot.watched) or "the robot"}.')
        self._robot = robot
        self.every(1.0 / settings.rate, self._check)

    def cleanup(self) -> None:
        """Let the robot go."""
        self._robot = None

    def locked(self) -> str:
        """Parameters do not change while something moves."""
        return 'the robot is moving' if self._robot is not None and self._robot.moving else ''

    def apply_settings(self) -> None:
        """Watch by the new tolerances from now on; what was found stays found."""
        if self._robot is not None:
            self._robot.take_settings()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """What was found, and who is there."""
        robot = self._robot
        if robot is None:
            return super().diagnose()
        absent, (lost, none) = robot.absent(now()), robot.efforts()
        unseen = robot.unseen()
        values: dict[str, object] = {
            'watched': ', '.join(robot.watched), 'revision': robot.revision or 'none: the prior',
            'absent': ' '.join(absent), 'findings': ' '.join(self._reasons),
            'longest time between checks [s]': f'{self._longest:.3g}',
            'joints without effort': ', '.join(none),
            **{f'joint states since the last effort of {name}': count
               for name, count in lost.items()},
            **{name: f'{torque:.3g}' for name, torque in robot.torques()},
        }
        if self._reasons:
            return DiagnosticStatus.ERROR, ' '.join(self._reasons), values
        if unseen or absent or robot.refused:
            said = ' '.join(filter(None, (unseen, *absent, robot.refused)))
            return DiagnosticStatus.WARN, said, values
        if lost:
            return DiagnosticStatus.WARN, (
                f'The effort of {", ".join(lost)} is no longer given: neither contact nor overload '
                'is noticed there.'), values
        return DiagnosticStatus.OK, 'all is well', values

    # Checking

    def _check(self) -> None:
        robot, moment = self._robot, now()
        if robot is None:
            return
        self._longest = max(self._longest, moment - self._checked)
        self._checked = moment
        robot.update(moment)
        if self.active:
            self._judge(robot, moment)
        # The search asks all of the ROS graph; a stop does not wait for it.
        if moment - self._searched > _SEARCH:
            self._searched = moment
            self._find_actions()

    def _judge(self, robot: MonitoredRobot, moment: float) -> None:
        """Stop everybody where there is a reason to."""
        found = robot.findings(moment)
        new = bool(found) and not self._reasons
        if new:
            self._reasons, self._since = found, moment
        if self._reasons:
            self._act(robot, moment)
        if new:
            # Words take their time; deeds come first.
            self.complain(SysidError(' '.join(found)))

    def _act(self, robot: MonitoredRobot, moment: float) -> None:
        """Stop everybody, for as long as something moves."""
        told = self._cancelled >= self._since
        if told and robot.at_rest() and moment - self._since > _LEAST:
            return
        if moment - self._requested > _REQUEST:
            self._requested = moment
            self._stop.publish(StopRequest(
                stamp=self.get_clock().now().to_msg(), source=self.get_fully_qualified_name(),
                reasons=list(self._reasons),
            ))
        # A goal that is taken back, and an empty trajectory, hold the robot where it is, however
        # fast that is: whoever brakes it is let do so.
        if moment - self._cancelled > _CANCEL and not robot.brakes(moment, self._since):
            self._cancelled = moment
            for publisher in self._trajectories:
                publisher.publish(JointTrajectory(joint_names=list(robot.joints)))
            for client in self._cancels.values():
                if client.service_is_ready():
                    # An id of zeros at the time zero stands for all goals.
                    client.call_async(CancelGoal.Request())

    def _find_actions(self) -> None:
        """Clients that take back the goals of trajectory controllers that a stop is for."""
        settings = self.settings
        wanted = {self.absolute_name(name) for name in settings.cancel_actions}
        if settings.cancel != 'named':
            wanted |= {
                action for action in trajectory_actions(self)
                if settings.cancel == 'all' or self.get_namespace() in server_namespaces(
                    self, action)
            }
        for action in wanted - self._cancels.keys():
            client = self.create_client(CancelGoal, action + _CANCEL_GOAL)
            self._cancels[action] = self.keep(self.destroy_client, client)

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if self._robot is not None and self._robot.moving:
                raise ExcitationError('the robot is not at rest', fix='Wait, and reset again')
            response.message = ' '.join(self._reasons) or 'There was nothing to reset.'
            response.success = True
            self._reasons, self._fault = (), ''
            if self._robot is not None:
                self._robot.forget()
        except SysidError as error:
            response.message, response.success = str(error), False
        return response


def trajectory_actions(node: Node) -> set[str]:
    """Names of all FollowJointTrajectory actions in the ROS domain."""
    return {
        name.removesuffix(_SEND) for name, types in node.get_service_names_and_types()
        if name.endswith(_SEND) and _TRAJECTORY in types
    }


def server_namespaces(node: Node, action: str) -> set[str]:
    """Namespaces of the nodes that serve an action: they alone publish its status."""
    return {
        publisher.node_namespace
        for publisher in node.get_publishers_info_by_topic(f'{action}{_STATUS}')
    }


def main() -> int:
    """Run the node."""
    return run(MonitorNode)


if __name__ == '__main__':
    sys.exit(main())
