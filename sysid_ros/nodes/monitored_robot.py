"""The robot that a monitor watches, and the nodes that move it: what is heard, and what it shows.

Loads Pinocchio and the compiled functions, so that a node imports it when it is configured.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_ros.errors import ReleaseError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.playback.checks import Observation, PlaybackTolerances
from sysid_ros.excitation.safety.braking import BrakingPhases
from sysid_ros.excitation.safety.first_run import MissedTorque
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.monitor import Command, MotionMonitor, Pulse
from sysid_ros.msg import ExcitationStatus, Heartbeat, IdentifiedParameters
from sysid_ros.nodes.acknowledgement import Acknowledgement
from sysid_ros.nodes.conversions import model_with_terms_of, parameters_from_message
from sysid_ros.nodes.monitor_settings import MonitorNodeSettings
from sysid_ros.nodes.node import HEARTBEAT_TOPIC, LATCHED, STREAM, SysidNode, now
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.robot_observer import BEATS, RobotObserver
from sysid_ros.release.revision import require_successor

_MOVING = (ExcitationStatus.BLENDING, ExcitationStatus.PLAYING, ExcitationStatus.STOPPING)
_WORKING = (Heartbeat.WORKING, Heartbeat.STOPPING)
# Times in [s] for which a status counts, and until the excitation says that it brakes; and time
# that braking may take beyond the shortest.
_HEARD, _ANSWER, _LATER = 0.1, 0.1, 0.2


class MonitoredRobot:
    """A robot and its nodes as heard and judged, from ``configure`` of the monitor to its clean-up.

    Args:
        node: The monitor.

    Attributes:
        joints: Names of the robot's joints.
        watched: Fully qualified names of the nodes whose silence stops the robot.
        revision: Id of the revision that torques are predicted with; empty for the prior.
        refused: Why a revision that was handed out since is not taken; empty when it is.
        moving: Whether the robot moved, or was told to, at the last update.

    Raises:
        SysidError: The plan cannot be read, or the robot not be loaded.
    """

    def __init__(self, node: SysidNode[MonitorNodeSettings]) -> None:
        settings, self._node = node.settings, node
        self._plan = plan = ExcitationPlan.load(
            settings.plan, published_description(node, Path(settings.plan), node.ending))
        self._model = plan.settings.robot.build(plan.base)
        self.joints, node.hardware_id = self._model.robot.joint_names, self._model.robot.name
        self._observer = RobotObserver(node, self._model.robot, settings.joint_states, None)
        self.watched = tuple(node.absolute_name(name) for name in settings.watch)
        self._limits = MotionLimits.of(self._model.robot, plan.settings.limits)
        self._believed: IdentifiedParameters | None = None
        self._missed = MissedTorque(len(self.joints))
        self._monitor = self._monitor_of_settings()
        self._pulses: dict[str, Pulse] = {}
        self._command: Command | None = None
        self._seen: Observation = self._observer.seen()
        self.revision, self.refused, self.moving = '', '', False
        self._stopping, self._longest_stop = False, self._longest_braking() + _LATER
        # Taken when it is time to look, not one by one.
        self._heartbeats = node.poll(Heartbeat, HEARTBEAT_TOPIC, BEATS)
        self._statuses = node.poll(ExcitationStatus, settings.status, STREAM)
        node.listen(IdentifiedParameters, settings.parameters, self._take_parameters, LATCHED)
        Acknowledgement(node, settings.parameters, lambda: self.revision)

    def take_settings(self) -> None:
        """Judge by the node's present settings from now on."""
        self._monitor = self._monitor_of_settings()

    # Updates and what they show

    def update(self, moment: float) -> None:
        """Take in what was said since the last update.

        Args:
            moment: The time in [s].
        """
        self._seen = self._observer.seen()
        self._listen(moment)
        self.moving = self._monitor.moving(moment, self._seen, self._command)

    def findings(self, moment: float) -> tuple[str, ...]:
        """Reasons to stop everything, by the last update, one sentence each."""
        return self._monitor.findings(moment, self._seen, self._command, self._pulses)

    def at_rest(self) -> bool:
        """Whether joint states that are fresh showed rest at the last update."""
        return self._monitor.at_rest(self._seen)

    def brakes(self, moment: float, since: float) -> bool:
        """Whether the excitation moves the robot, and brakes it, or may still say that it does.

        Args:
            moment: The time in [s].
            since: When it was asked to, in [s].
        """
        command = self._command
        if command is None or not command.moving or moment - command.received > _HEARD:
            return False
        return moment - since < (self._longest_stop if self._stopping else _ANSWER)

    def absent(self, moment: float) -> tuple[str, ...]:
        """Watched nodes that are silent or were never heard, one sentence each."""
        return self._monitor.absent(moment, self._pulses)

    def unseen(self) -> str:
        """Why joint states did not show the robot at the last update; empty when they did."""
        return self._monitor.unseen(self._seen)

    def efforts(self) -> tuple[dict[str, int], tuple[str, ...]]:
        """Joints that lost their effort, with joint states since then, and those without any."""
        live = self._observer.feed.live
        lost = live.lost_efforts
        return lost, tuple(name for name in live.without_effort if name not in lost)

    def forget(self) -> None:
        """Forget what was said of a motion that is over, and who was silent in it."""
        # Who is silent now is missed again from the next sign of life.
        longest = now() - self._node.settings.heartbeat_timeout
        self._pulses = {
            name: pulse for name, pulse in self._pulses.items() if pulse.received > longest}
        self._command = None

    def torques(self) -> Iterator[tuple[str, float]]:
        """Unexplained torques, and those that the description misses where known, with a name."""
        for name, value in zip(self.joints, self._monitor.unexplained.tolist(), strict=True):
            yield f'unexplained torque of {name}', value
        for name, value in zip(self.joints, self._missed.level.tolist(), strict=True):
            if np.isfinite(value):
                yield f'torque of {name} that the description misses', value

    # What others say

    def _listen(self, moment: float) -> None:
        # When it was said counts, not when it is heard.
        clock = time.time_ns()
        for heartbeat, received in self._heartbeats.take():
            if heartbeat.node in self.watched:
                self._pulses[heartbeat.node] = Pulse(
                    moment - 1e-9 * max(clock - received, 0), heartbeat.state in _WORKING)
        for status, received in self._statuses.take()[-1:]:
            self._command = Command(
                status.phase in _MOVING, moment - 1e-9 * max(clock - received, 0),
                done=status.phase == ExcitationStatus.DONE)
            self._stopping = status.phase == ExcitationStatus.STOPPING
            if tuple(status.joint_names) == self.joints:
                self._command = replace(
                    self._command, q=np.array(status.position), a=np.array(status.acceleration))

    def _take_parameters(self, message: IdentifiedParameters) -> None:
        try:
            require_successor(message.revision, self.revision)
        except ReleaseError as error:
            # No reason to stop a robot that is predicted as well as before.
            self.refused = str(error)
            self._node.get_logger().error(self.refused)
            return
        self.refused = ''
        self._predict_by(self._monitor, message)
        self._believed = message
        self.revision = message.revision

    def _predict_by(self, monitor: MotionMonitor, message: IdentifiedParameters) -> None:
        model = model_with_terms_of(message, self._model)
        monitor.predict_by(
            model, parameters_from_message(message, model).values,
            # The first revision holds what the description says, and no estimate.
            identified=bool(message.estimate))

    def _longest_braking(self) -> float:
        """Time from full speed and acceleration to rest in [s]; 0 where a limit is missing."""
        limits = self._limits
        with np.errstate(invalid='ignore'):
            phases = BrakingPhases.of(limits, limits.velocity, limits.acceleration)
        longest = float(np.max(phases.duration, initial=0.0))
        return longest if np.isfinite(longest) else 0.0

    def _monitor_of_settings(self) -> MotionMonitor:
        settings, plan = self._node.settings, self._plan
        monitor = MotionMonitor(
            self._model, self._limits, self.watched, _tolerances(settings),
            residual=settings.residual, first_residual=settings.first_residual,
            first_run=settings.first_run,
            cutoff=settings.residual_cutoff, rest_velocity=settings.rest_velocity,
            singularity=plan.settings.design.singularity_margin, missed=self._missed,
            lost_effort=settings.lost_effort,
        )
        if self._believed is not None:
            self._predict_by(monitor, self._believed)
        return monitor


def _tolerances(settings: MonitorNodeSettings) -> PlaybackTolerances:
    return PlaybackTolerances(
        settings.tracking_error, settings.state_timeout, settings.heartbeat_timeout,
        bad_in_a_row=settings.bad_in_a_row, reaction_time=settings.reaction_time,
        over=settings.over,
    )
