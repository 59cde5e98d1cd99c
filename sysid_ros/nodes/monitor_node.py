"""A process that watches everything that moves the robot, and stops it all when it must.

What it finds it says again and again until the robot is at rest: a request to stop, heard by every
node of this package; goals of trajectory controllers are taken back; trajectory topics get an
empty trajectory. What it found stays found until a person resets it. It is software, and no
substitute for a safety-rated stop.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.errors import ConfigurationError, ExcitationError, SysidError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.playback.checks import Observation, PlaybackTolerances
from sysid_ros.excitation.safety.first_run import MissedTorque
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.monitor import Command, MotionMonitor, Pulse
from sysid_ros.msg import ExcitationStatus, Heartbeat, IdentifiedParameters, StopRequest
from sysid_ros.nodes.acknowledgement import Acknowledgement
from sysid_ros.nodes.conversions import parameters_from_message
from sysid_ros.nodes.node import HEARTBEAT_TOPIC, LATCHED, STOP_TOPIC, STREAM, SysidNode, now
from sysid_ros.nodes.process import run
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.robot_observer import BEATS, RobotObserver, absolute_name
from sysid_ros.nodes.settings import NodeSettings

# Times in [s] between requests to stop, between goals being taken back, and between searches for
# controllers; and for how long requests go on at least.
_REQUEST, _CANCEL, _SEARCH, _LEAST = 0.05, 0.2, 1.0, 0.5
_MOVING = (ExcitationStatus.BLENDING, ExcitationStatus.PLAYING, ExcitationStatus.STOPPING)
_WORKING = (Heartbeat.WORKING, Heartbeat.STOPPING)
_TRAJECTORY = 'control_msgs/action/FollowJointTrajectory_SendGoal'
_SEND, _CANCEL_GOAL, _STATUS = (
    '/_action/send_goal', '/_action/cancel_goal', '/_action/status')


class MonitorNodeSettings(NodeSettings):
    """Parameters of the monitor."""

    live: ClassVar[frozenset[str]] = frozenset({
        'heartbeat_timeout', 'tracking_error', 'state_timeout', 'bad_in_a_row', 'reaction_time',
        'over', 'residual', 'first_residual', 'first_run', 'residual_cutoff', 'rest_velocity'})

    plan: str = Field(
        default='', description='Settings file of sysid excite: robot and limits')
    joint_states: str = Field(default='joint_states', description='Topic of the joint states')
    watch: tuple[str, ...] = Field(
        default=('excitation_node',), description='Nodes whose silence stops the robot')
    status: str = Field(
        default='excitation_node/status', description='Topic of what the robot is told')
    parameters: str = Field(
        default='model_server/identified_parameters',
        description='Topic of the revision that torques are predicted with; before: the prior')
    trajectory_topics: tuple[str, ...] = Field(
        default=('joint_trajectory',), description='Topics that get an empty trajectory at a stop')
    cancel: Literal['named', 'namespace', 'all'] = Field(
        default='namespace', description='Whose FollowJointTrajectory goals are taken back at a '
        "stop, besides those of cancel_actions: nobody's; those of controllers in the namespace of "
        'this node; those of every robot in the ROS domain')
    cancel_actions: tuple[str, ...] = Field(
        default=(), description='Actions whose goals are taken back at a stop in any case')
    rate: float = Field(default=100.0, ge=20.0, le=1000.0, description='Looks per second in [Hz]')
    heartbeat_timeout: float = Field(
        default=0.2, ge=0.1, le=2.0, description='Longest silence of a watched node in [s]')
    tracking_error: float = Field(
        default=0.15, gt=0.0, le=1.0,
        description='Largest distance from the command in [rad] or [m]')
    state_timeout: float = Field(
        default=0.1, ge=0.1, le=1.0,
        description='Longest time without joint states in [s]; at least five of their periods')
    bad_in_a_row: int = Field(
        default=5, ge=1, le=100,
        description='Most joint states without a finite position, one after another')
    reaction_time: float = Field(
        default=0.02, ge=0.0, le=1.0, description='Time until braking begins in [s]')
    over: float = Field(
        default=0.1, ge=0.0, le=1.0,
        description='Part by which measured velocity and effort may exceed their limits')
    residual: float = Field(
        default=0.3, gt=0.0, le=1.0,
        description='Part of the effort limit that unexplained torque may reach')
    first_residual: float = Field(
        default=0.8, gt=0.0, le=1.0,
        description='The same before a revision is committed, since the description may be very '
        'wrong, for joints of which no motion has shown what it misses')
    first_run: float = Field(
        default=3.0, ge=0.0, le=100.0,
        description='Multiple of the torque that the description was seen to miss, in the first '
        'motion, which is a slow one, and in later ones, that is allowed before a revision is '
        'committed; no less than residual, no more than first_residual; 0: first_residual')
    residual_cutoff: float = Field(
        default=5.0, gt=0.0, le=100.0, description='Cutoff of the filter of torques in [Hz]')
    rest_velocity: float = Field(
        default=0.02, gt=0.0, le=0.2,
        description='Part of the velocity limit below which a joint is at rest')

    @property
    def tolerated(self) -> PlaybackTolerances:
        """What is tolerated."""
        return PlaybackTolerances(
            self.tracking_error, self.state_timeout, self.heartbeat_timeout,
            bad_in_a_row=self.bad_in_a_row, reaction_time=self.reaction_time, over=self.over,
        )


class MonitorNode(SysidNode[MonitorNodeSettings]):
    """The node; see ``config/monitor_node.yaml``."""

    settings_class: ClassVar[type[MonitorNodeSettings]] = MonitorNodeSettings

    def __init__(self) -> None:
        self._motion_monitor: MotionMonitor | None = None
        self._reasons: tuple[str, ...] = ()
        super().__init__('monitor_node')

    # Lifecycle

    def configure(self) -> None:
        """Load the robot, and listen to everybody."""
        settings = self.settings
        if not settings.plan:
            raise ConfigurationError(
                'there is no robot', where='plan', found='nothing',
                fix="Name a settings file of 'sysid excite'",
            )
        self._plan = plan = ExcitationPlan.load(
            settings.plan, published_description(self, Path(settings.plan)))
        self._model = plan.settings.robot.build(plan.base)
        self._observer = RobotObserver(self, self._model.robot, settings.joint_states, None)
        self._watched = tuple(absolute_name(self, name) for name in settings.watch)
        self._believed: IdentifiedParameters | None = None
        self._missed = MissedTorque(len(self._model.robot.joint_names))
        self._motion_monitor = self._monitor_of_settings()
        self._reasons, self._pulses = (), dict[str, Pulse]()
        self._command: Command | None = None
        self._revision = ''
        self._since = self._requested = self._cancelled = self._searched = -np.inf
        self._moving = False
        self._cancels: dict[str, Any] = {}
        if settings.cancel == 'all':
            self.get_logger().warning(
                'cancel is all: at a stop the goals of every robot in the ROS domain are taken '
                'back, those of other namespaces as well.')
        self._stop = self.advertise(StopRequest, STOP_TOPIC)
        self._trajectories = [
            self.advertise(JointTrajectory, topic) for topic in settings.trajectory_topics]
        # Taken when it is time to look, not one by one.
        self._heartbeats = self.poll(Heartbeat, HEARTBEAT_TOPIC, BEATS)
        self._statuses = self.poll(ExcitationStatus, settings.status, STREAM)
        self.listen(IdentifiedParameters, settings.parameters, self._take_parameters, LATCHED)
        Acknowledgement(self, settings.parameters, lambda: self._revision)
        self.keep(self.destroy_service, self.create_service(Trigger, '~/reset', self._reset))
        # The first line of a log takes long. It is not the one of the first finding.
        self.get_logger().info(f'Watching {", ".join(self._watched) or "the robot"}.')
        self.every(1.0 / settings.rate, self._check)

    def cleanup(self) -> None:
        """Let the robot go."""
        self._motion_monitor = None

    def locked(self) -> str:
        """Parameters do not change while something moves."""
        return 'the robot is moving' if self._motion_monitor is not None and self._moving else ''

    def apply_settings(self) -> None:
        """Watch by the new tolerances from now on; what was found stays found."""
        if self._motion_monitor is not None:
            self._motion_monitor = self._monitor_of_settings()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """What was found, and who is there."""
        if self._motion_monitor is None:
            return super().diagnose()
        absent = self._motion_monitor.absent(now(), self._pulses)
        joints = self._model.robot.joint_names
        values: dict[str, object] = {
            'watched': ', '.join(self._watched), 'revision': self._revision or 'none: the prior',
            'absent': ' '.join(absent), 'findings': ' '.join(self._reasons),
            **{f'unexplained torque of {name}': f'{value:.3g}'
               for name, value in zip(joints, self._motion_monitor.unexplained, strict=True)},
            **{f'torque of {name} that the description misses': f'{value:.3g}'
               for name, value in zip(joints, self._missed.level, strict=True)
               if np.isfinite(value)},
        }
        if self._reasons:
            return DiagnosticStatus.ERROR, ' '.join(self._reasons), values
        if absent:
            return DiagnosticStatus.WARN, ' '.join(absent), values
        return DiagnosticStatus.OK, 'all is well', values

    def _monitor_of_settings(self) -> MotionMonitor:
        settings, plan = self.settings, self._plan
        monitor = MotionMonitor(
            self._model, MotionLimits.of(self._model.robot, plan.settings.limits), self._watched,
            settings.tolerated, residual=settings.residual,
            first_residual=settings.first_residual, first_run=settings.first_run,
            cutoff=settings.residual_cutoff, rest_velocity=settings.rest_velocity,
            singularity=plan.settings.design.singularity_margin, missed=self._missed,
        )
        if self._believed is not None:
            self._predict_by(monitor, self._believed)
        return monitor

    def _predict_by(self, monitor: MotionMonitor, message: IdentifiedParameters) -> None:
        monitor.predict_by(
            parameters_from_message(message, self._model).values,
            # The first revision holds what the description says, and no estimate.
            identified=bool(message.estimate))

    # What others say

    def _listen(self, moment: float) -> None:
        """What was said since the last look; when it was said counts, not when it is heard."""
        clock = time.time_ns()
        for heartbeat, received in self._heartbeats.take():
            if heartbeat.node in self._watched:
                self._pulses[heartbeat.node] = Pulse(
                    moment - 1e-9 * max(clock - received, 0), heartbeat.state in _WORKING)
        for status, received in self._statuses.take()[-1:]:
            self._command = Command(
                status.phase in _MOVING, moment - 1e-9 * max(clock - received, 0),
                done=status.phase == ExcitationStatus.DONE)
            if tuple(status.joint_names) == self._model.robot.joint_names:
                self._command = replace(
                    self._command, q=np.array(status.position), a=np.array(status.acceleration))

    def _take_parameters(self, message: IdentifiedParameters) -> None:
        assert self._motion_monitor is not None
        self._predict_by(self._motion_monitor, message)
        self._believed = message
        self._revision = message.revision

    # Checking

    def _check(self) -> None:
        if self._motion_monitor is None:
            return
        moment, seen = now(), self._observer.seen()
        self._listen(moment)
        if moment - self._searched > _SEARCH:
            self._searched = moment
            self._find_actions()
        self._moving = self._motion_monitor.moving(moment, seen, self._command)
        if not self.active:
            return
        found = self._motion_monitor.findings(moment, seen, self._command, self._pulses)
        new = bool(found) and not self._reasons
        if new:
            self._reasons, self._since = found, moment
        if self._reasons:
            self._act(moment, seen)
        if new:
            # Words take their time; deeds come first.
            self.complain(SysidError(' '.join(found)))

    def _act(self, moment: float, seen: Observation) -> None:
        """Stop everybody, for as long as something moves."""
        assert self._motion_monitor is not None
        resting = self._motion_monitor.at_rest(seen) and moment - self._since > _LEAST
        if resting:
            return
        if moment - self._requested > _REQUEST:
            self._requested = moment
            self._stop.publish(StopRequest(
                stamp=self.get_clock().now().to_msg(), source=self.get_fully_qualified_name(),
                reasons=list(self._reasons),
            ))
        if moment - self._cancelled > _CANCEL:
            self._cancelled = moment
            for publisher in self._trajectories:
                publisher.publish(JointTrajectory(joint_names=list(self._model.robot.joint_names)))
            for client in self._cancels.values():
                if client.service_is_ready():
                    # An id of zeros at the time zero stands for all goals.
                    client.call_async(CancelGoal.Request())

    def _find_actions(self) -> None:
        """Clients that take back the goals of trajectory controllers that a stop is for."""
        settings = self.settings
        wanted = {absolute_name(self, name) for name in settings.cancel_actions}
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
            if self._moving:
                raise ExcitationError('the robot is not at rest', fix='Wait, and reset again')
            response.message = ' '.join(self._reasons) or 'There was nothing to reset.'
            response.success = True
            self._reasons, self._fault = (), ''
            # Who is silent now is missed again from the next sign of life.
            longest = now() - self.settings.heartbeat_timeout
            self._pulses = {
                name: pulse for name, pulse in self._pulses.items() if pulse.received > longest}
            self._command = None
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
