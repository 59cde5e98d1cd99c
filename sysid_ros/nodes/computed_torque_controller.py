"""A controller that runs on what was identified, and says so.

It tracks ``reference`` by computed torque, with the parameters that the model server has handed
out last; it changes to others only while the robot is at rest, acknowledges them, and so goes back
on a rollback, too. References that break off and stops end in braking, joint by joint.
"""

from __future__ import annotations

import sys
import time
from array import array
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.errors import ConfigurationError, SysidError, UnreachableError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.playback.follower import Follower, FollowerPhase, Reference
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.closed_chain import neutral_configuration
from sysid_ros.mechanics.control import ComputedTorque
from sysid_ros.mechanics.state_predictor import StatePredictor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.msg import IdentifiedParameters, StopRequest
from sysid_ros.nodes.acknowledgement import Acknowledgement
from sysid_ros.nodes.conversions import (
    instant,
    model_with_terms_of,
    parameters_from_message,
    to_nanoseconds,
)
from sysid_ros.nodes.joint_state_feed import JointStateFeed
from sysid_ros.nodes.node import LATCHED, STOP_TOPIC, STREAM, SysidNode, now
from sysid_ros.nodes.process import run
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.release.revision import require_successor

# Longest time in [s] over which what was measured or asked for is continued.
_AHEAD = 0.05
# Time constant of feedback that lasts, in parts of that of the errors' decay.
_LASTING = 1.5


class ComputedTorqueControllerSettings(NodeSettings):
    """Parameters of the controller."""

    plan: str = Field(
        default='', description='Settings file of sysid excite: robot, joint terms, limits')
    joints: tuple[str, ...] = Field(
        default=(), description='Order of the joints in commands; empty: that of the description')
    rate: float = Field(default=500.0, ge=10.0, le=1000.0, description='Commands per second [Hz]')
    natural_frequency: float = Field(
        default=20.0, gt=0.0, le=500.0, description='Of the decay of errors [rad/s]')
    damping: float = Field(
        default=1.0, gt=0.0, le=10.0, description='Damping ratio of the decay of errors')
    friction_smoothing: float = Field(
        default=0.02, ge=0.0, le=10.0,
        description='Velocity over which dry friction changes its sign at least [rad/s]')
    reference_timeout: float = Field(
        default=0.1, ge=0.01, le=10.0, description='Silence in motion after which it brakes [s]')
    state_timeout: float = Field(
        default=0.1, ge=0.01, le=10.0,
        description='Silence of joint states after which it lets go [s]')
    tolerance: float = Field(
        default=0.05, gt=0.0, le=1.0,
        description='Distance from the robot at which references may begin [rad]')
    model_server: str = Field(
        default='model_server', description='Node that hands out revisions; empty: take none')


class ComputedTorqueController(SysidNode[ComputedTorqueControllerSettings]):
    """The controller."""

    settings_class = ComputedTorqueControllerSettings
    moves_robot = True

    def __init__(self) -> None:
        super().__init__('computed_torque_controller')
        self._follower: Follower | None = None
        self.revision = ''

    def configure(self) -> None:
        """Load the robot; its description is what holds until a revision comes."""
        settings = self.settings
        self._model, self._limits = self._robot(settings.plan)
        names, self.hardware_id = self._model.robot.joint_names, self._model.robot.name
        self._joints = settings.joints or names
        if sorted(self._joints) != sorted(names):
            raise ConfigurationError(
                'the joints are not those of the robot', where='joints',
                found=', '.join(self._joints), allowed=', '.join(names),
                fix='Set the parameter joints to these, in the order of the commands')
        self._order = [names.index(name) for name in self._joints]
        self._law = self._law_of(self._model, self._model.parameters.values)
        # Compiled before the robot depends on it.
        still = np.zeros(len(names))
        self._law.torque(neutral_configuration(self._model.robot), still, still, still)
        self._follower = Follower(
            self._limits, timeout=settings.reference_timeout, tolerance=settings.tolerance)
        kinds = zip(names, self._model.robot.joint_types, strict=True)
        self._feed = JointStateFeed(
            self, names, continuous={name for name, kind in kinds if kind == 'continuous'})
        self._references = self.poll(JointTrajectory, 'reference', STREAM)
        self._stops = self.poll(StopRequest, STOP_TOPIC)
        self._efforts = self.advertise(Float64MultiArray, 'effort_commands')
        self._follow_revisions()
        self._clear_figures()
        self._predictor = StatePredictor(
            len(names), _AHEAD, lasting=_LASTING / settings.natural_frequency)
        self.loop(1.0 / settings.rate, self._tick)

    def deactivate(self) -> None:
        """Brake and let go."""
        if self._follower is not None:
            self._follower.stop(now(), 'the controller was deactivated')

    def cleanup(self) -> None:
        """Forget the robot."""
        self._follower, self.revision = None, ''

    def working(self) -> bool:
        """Whether it moves the robot."""
        return not self.at_rest()

    def at_rest(self) -> bool:
        """Whether nothing is followed and the robot stands still."""
        return self._follower is None or self._follower.at_rest

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """What it does, by which revision, and how well."""
        if self._follower is None:
            return DiagnosticStatus.OK, 'not configured', {}
        values: dict[str, object] = {
            'revision': self.revision or 'the description', 'last stop': self._follower.reason,
            'revision that waits for rest': self._waiting[0] if self._waiting else '',
            'revision that cannot be used': self._unusable,
            'references ignored': self._follower.ignored, 'last refusal': self._refusal,
            # Where it waits: nobody sends, or nothing comes of what is sent.
            'publishers of joint states': self._feed.publishers(),
            'ticks with saturated drives': self._saturated,
            'saturated drives': ', '.join(self._saturated_joints),
        }
        rms = np.sqrt(self._squares / max(self._ticks, 1))
        for name, error, worst in zip(
            self._model.robot.joint_names, rms, self._worst, strict=True
        ):
            values[f'tracking error of {name} [rad or m]'] = f'rms {error:.3g}, largest {worst:.3g}'
        bad = self._unusable or self._saturated
        level = DiagnosticStatus.WARN if bad else DiagnosticStatus.OK
        return level, self._follower.phase.value, values

    def _robot(self, file: str) -> tuple[TorqueModel, MotionLimits]:
        if not file:
            raise ConfigurationError(
                'there is no robot', where='plan', found='nothing',
                fix="Name a settings file of 'sysid excite'")
        path = Path(file).expanduser()
        plan = ExcitationPlan.load(path, published_description(self, path, self.ending))
        model = plan.settings.robot.build(plan.base)
        return model, MotionLimits.of(model.robot, plan.settings.limits)

    def _law_of(self, model: TorqueModel, values: np.ndarray) -> ComputedTorque:
        settings = self.settings
        return ComputedTorque(
            model, values, natural_frequency=settings.natural_frequency,
            damping=settings.damping, friction_smoothing=settings.friction_smoothing,
            effort=self._limits.effort)

    def _clear_figures(self) -> None:
        self._squares = np.zeros(len(self._joints))
        self._worst = np.zeros(len(self._joints))
        self._ticks = self._saturated = 0
        self._saturated_joints: tuple[str, ...] = ()
        self._refusal = ''

    # The loop

    def _tick(self) -> None:
        """Take what came, and command what is to be done now."""
        follower, moment, clock = self._follower, now(), time.time_ns()
        if follower is None:
            return
        live = self._feed.poll()
        for message, _ in self._stops.take():
            follower.stop(now(), '; '.join(message.reasons) or f'{message.source} asked for it')
        for message, received in self._references.take():
            stamp = to_nanoseconds(message.header.stamp)
            self._refer(moment - _age(stamp, received, clock), message)
        sample = live.latest
        if sample is None:
            return
        if live.age(moment) > self.settings.state_timeout:
            follower.lose(f'no joint states for {self.settings.state_timeout} s')
            return
        v = sample.v if np.isfinite(sample.v).all() else live.velocities()
        # The robot has moved on since it was measured, as it was told to.
        received = clock - round(1e9 * (moment - sample.received))
        age = _age(sample.stamp, received, clock)
        q, v = self._predictor.predict(sample.q, v, moment - age, moment)
        target = follower.tick(moment, q, v)
        self._change_revision()
        asked, feedback = np.zeros((2, len(v)))
        if target is not None and self.active:
            try:
                asked, feedback = target.a, self._command(q, v, target)
            except UnreachableError as error:
                follower.release(str(error))
        self._predictor.command(now(), asked, feedback)

    def _command(self, q: np.ndarray, v: np.ndarray, target: Reference) -> np.ndarray:
        """Command torques; the accelerations of their feedback, shape ``(n,)``."""
        command = self._law.command(q, v, target.q, target.v, target.a)
        self._efforts.publish(
            Float64MultiArray(data=array('d', command.torque[self._order].tobytes())))
        if command.saturated:
            self._saturated += 1
            self._saturated_joints = command.saturated
            self.get_logger().warning(
                f'the drives cannot do what is asked for: {", ".join(command.saturated)}',
                throttle_duration_sec=1.0)
        if self.working():
            error = np.abs(target.q - q)
            self._squares += error**2
            self._worst = np.maximum(self._worst, error)
            self._ticks += 1
        return command.feedback

    def _refer(self, moment: float, message: JointTrajectory) -> None:
        """Hand a reference to the follower; what it refuses is said."""
        follower = self._follower
        if follower is None or not self.active:
            return
        resting = follower.phase is not FollowerPhase.FOLLOWING
        try:
            follower.refer(moment, self._reference(message))
        except SysidError as error:
            self._refusal = str(error)
            self.get_logger().warning(self._refusal, throttle_duration_sec=1.0)
        if resting and follower.phase is FollowerPhase.FOLLOWING:
            self._clear_figures()

    def _reference(self, message: JointTrajectory) -> Reference:
        names = self._model.robot.joint_names
        if sorted(message.joint_names) != sorted(names) or len(message.points) != 1:
            raise SysidError(
                'a reference is one point of all joints',
                found=f'{len(message.points)} points of {", ".join(message.joint_names)}',
                allowed=', '.join(names), fix='Send the point of now alone, at every step')
        point = message.points[0]
        parts = (point.positions, point.velocities, point.accelerations)
        if any(len(part) != len(names) for part in parts):
            raise SysidError(
                'a reference has a position, velocity and acceleration of every joint',
                found=[len(part) for part in parts], allowed=len(names),
                fix='Fill velocities and accelerations, with zeros where the robot rests')
        order = [message.joint_names.index(name) for name in names]
        q, v, a = (np.array(part)[order] for part in parts)
        return Reference(q, v, a)

    # Revisions

    def _follow_revisions(self) -> None:
        self._waiting: tuple[str, ComputedTorque] | None = None
        self._unusable = ''
        server = self.settings.model_server
        if not server:
            return
        self.listen(
            IdentifiedParameters, f'{server}/identified_parameters', self._take_revision, LATCHED)
        Acknowledgement(self, f'{server}/identified_parameters', lambda: self.revision)

    def _take_revision(self, message: IdentifiedParameters) -> None:
        """Prepare the law of a revision; it holds from the next rest on."""
        known = self._waiting[0] if self._waiting is not None else self.revision
        self._waiting, self._unusable = None, ''
        if message.revision == self.revision:
            return
        try:
            require_successor(message.revision, known)
            model = model_with_terms_of(message, self._model)
            values = parameters_from_message(message, model).values
            self._waiting = message.revision, self._law_of(model, values)
        except SysidError as error:
            # The old one goes on, and the model server lists this node as outdated.
            self._unusable = f'{message.revision}: {error}'
            self.get_logger().error(self._unusable)

    def _change_revision(self) -> None:
        if self._waiting is not None and self.at_rest():
            self.revision, self._law = self._waiting
            self._waiting = None
            self.get_logger().info(f'revision {self.revision} holds from now on')


def _age(stamp: int, received: int, clock: int) -> float:
    """Time in [s] since the instant that a message is of; what is older is not believed.

    Args:
        stamp: Its stamp in [ns].
        received: When it came, by the clock of stamps in [ns].
        clock: What that clock shows in [ns].
    """
    longest = round(1e9 * _AHEAD)
    return 1e-9 * min(max(clock - instant(stamp, received, longest), 0), longest)


def main() -> int:
    """Run the node."""
    return run(ComputedTorqueController)


if __name__ == '__main__':
    sys.exit(main())
