"""A robot that is not there: MuJoCo moves it in real time, with parameters nobody is told.

It takes ``effort_commands``, ``position_commands`` or a whole ``joint_trajectory``, whichever
comes, and publishes ``joint_states`` as encoders and torque sensors would. When commands fall
silent or a stop is asked for it brakes and holds by its own drives, and goes on only when a new
stream of commands begins from its present position, after a silence.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from pydantic import Field, NonNegativeFloat
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.demo.true_robot import Deviations
from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.mechanics.closures.closed_chain import neutral_configuration
from sysid_ros.msg import StopRequest
from sysid_ros.nodes.conversions import to_nanoseconds
from sysid_ros.nodes.node import STOP_TOPIC, STREAM, SysidNode, now
from sysid_ros.nodes.process import run
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel

if TYPE_CHECKING:
    from sysid_ros.demo.mujoco_plant import Plant
    from sysid_ros.demo.servo import Drives

# Joints that no deceleration is given for come from full speed to rest within so many seconds.
_BRAKING_TIME = 0.25
# Time in [s] that is simulated at once after a delay of the process; what is beyond is lost.
_CATCH_UP = 0.2


class SimulatedRobotSettings(NodeSettings):
    """Parameters of the simulated robot."""

    description: str = Field(
        default='', description='URDF, xacro or MJCF file that says what the robot is like')
    loops: str = Field(
        default='', description='YAML file that closes loops of a URDF; only driven joints are '
        'commanded and published then. Empty: none, or those of an MJCF')
    joints: tuple[str, ...] = Field(
        default=(), description='Order of the joints in commands; empty: that of the description')
    truth: str = Field(
        default='', description='YAML file of the deviations from the description; empty: drawn')
    truth_seed: int = Field(
        default=7, ge=0, description='Seed of the drawn deviations, and of the noise')
    armature: tuple[float, ...] = Field(
        default=(), description='Drive inertias with drawn deviations [kg m^2]; empty: described')
    write_truth: str = Field(
        default='', description='MJCF file to write with the truth, for a report; empty: none')
    initial_position: tuple[float, ...] = Field(
        default=(), description='Where it stands at first [rad] or [m]; empty: at zero, or where '
        'its loops are assembled')
    timestep: float = Field(
        default=0.001, ge=1e-5, le=0.01, description='Step of the simulation [s]')
    publish_rate: float = Field(
        default=500.0, ge=1.0, le=1000.0, description='Joint states per second [Hz]')
    encoder_steps: int = Field(default=65536, ge=0, description='Per turn or m; 0: exact')
    torque_noise: tuple[NonNegativeFloat, ...] = Field(
        default=(0.05,), min_length=1,
        description='Standard deviation of efforts [N m]: one for all joints, or one for each')
    velocity_noise: float = Field(
        default=0.005, ge=0.0, le=1e3, description='Standard deviation of velocities [rad/s]')
    command_delay: float = Field(
        default=0.001, ge=0.0, le=0.1, description='From a command to its effect [s]')
    command_timeout: float = Field(
        default=0.1, ge=0.01, le=10.0,
        description='Silence after which it brakes and does not go on by itself [s]')
    command_patience: float = Field(
        default=0.03, ge=0.005, le=10.0,
        description='Silence of a stream of efforts after which it brakes meanwhile [s]')
    servo_stiffness: tuple[NonNegativeFloat, ...] = Field(
        default=(), description='Position servos kp (u - q) - kd v in place of drives that know '
        'the robot: kp of each joint [N m/rad]; empty: none')
    servo_damping: tuple[NonNegativeFloat, ...] = Field(
        default=(), description='kd of each joint [N m s/rad]; empty: 0')
    efforts: bool = Field(
        default=True, description='Publish efforts; false: a robot without torque sensors')
    deceleration: tuple[float, ...] = Field(
        default=(), description='With which joints brake [rad/s^2]; empty: full speed in 0.25 s')


class SimulatedRobot(SysidNode[SimulatedRobotSettings]):
    """The robot."""

    settings_class = SimulatedRobotSettings
    moves_robot = True

    def __init__(self) -> None:
        super().__init__('simulated_robot')
        self._drives: Drives | None = None
        self._lost = self._overruns = self._refused = 0
        self._refusal = ''

    def configure(self) -> None:
        """Load the robot, draw its truth and let it stand where it begins."""
        settings = self.settings
        robot = _robot(settings.description, settings.loops)
        self.hardware_id = robot.name
        self._names = settings.joints or robot.joint_names
        if sorted(self._names) != sorted(robot.joint_names):
            raise ConfigurationError(
                'the joints are not those of the robot', where='joints',
                found=', '.join(self._names), allowed=', '.join(robot.joint_names),
                fix='Set the parameter joints to these')
        # Arrays of commands and states are in the order of the parameter.
        self._order = np.array([robot.joint_names.index(name) for name in self._names])
        self._place = np.argsort(self._order)
        self._drives, self._plant = self._make_drives(robot)
        if len(settings.torque_noise) not in (1, len(self._names)):
            raise ConfigurationError(
                'the list has the wrong length', where='torque_noise',
                found=len(settings.torque_noise), allowed=f'1 or {len(self._names)}',
                fix='Give one number for each joint')
        self._noise = np.array(settings.torque_noise)
        self._rng = np.random.default_rng(settings.truth_seed + 1)
        self._every = max(1, round(1.0 / (settings.publish_rate * settings.timestep)))
        self._steps = self._lost = self._overruns = self._refused = 0
        self._began, self._epoch = now(), self.get_clock().now().nanoseconds
        self._message = JointState(name=list(self._names))
        self._states = self.advertise(JointState, 'joint_states')
        self._inputs = [
            (self.poll(Float64MultiArray, 'effort_commands', STREAM), self._take_efforts),
            (self.poll(Float64MultiArray, 'position_commands', STREAM), self._take_positions),
            (self.poll(JointTrajectory, 'joint_trajectory'), self._take_trajectory),
            (self.poll(StopRequest, STOP_TOPIC), self._stop),
        ]
        self.loop(self._every * settings.timestep, self._advance)

    def deactivate(self) -> None:
        """Brake and hold."""
        if self._drives is not None:
            self._drives.stop('the node was deactivated')

    def cleanup(self) -> None:
        """Forget the robot."""
        self._drives = None

    def working(self) -> bool:
        """Whether it moves."""
        return not self.at_rest()

    def at_rest(self) -> bool:
        """Whether it stands still, held by its drives."""
        return self._drives is None or self._drives.at_rest

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """What the drives do, and what went wrong."""
        if self._drives is None:
            return DiagnosticStatus.OK, 'not configured', {}
        drives = self._drives
        values = {
            'mode': drives.mode.name.lower(), 'last stop': drives.reason,
            'simulated time [s]': f'{drives.t:.3f}', 'overruns': self._overruns,
            'commands refused': self._refused, 'last refusal': self._refusal,
            'lost time [s]': f'{self._lost * self.settings.timestep:.3f}', **drives.counts,
        }
        level = DiagnosticStatus.WARN if self._overruns else DiagnosticStatus.OK
        return level, drives.mode.value, values

    def _make_drives(self, robot: RobotModel) -> tuple[Drives, Plant]:
        settings = self.settings
        try:
            from sysid_ros.demo.mujoco_plant import Plant  # noqa: PLC0415 (MuJoCo is optional)
            from sysid_ros.demo.servo import Drives, DriveSettings  # noqa: PLC0415
        except ImportError as error:
            raise ConfigurationError(
                f'the robot cannot be simulated: {error}',
                fix="Install MuJoCo: pip install 'sysid-ros[demo]'") from error
        start = self._by_joint('initial_position', neutral_configuration(robot))
        braking = self._by_joint('deceleration', robot.limits.velocity / _BRAKING_TIME)
        plant = Plant.of(
            robot, self._deviations(robot).of(robot), timestep=settings.timestep,
            save=Path(settings.write_truth) if settings.write_truth else None)
        plant.reset(start)
        return Drives(plant, DriveSettings(
            effort=robot.limits.effort, deceleration=braking,
            timeout=settings.command_timeout, patience=settings.command_patience,
            delay=settings.command_delay, gains=self._servo_gains(),
        )), plant

    def _servo_gains(self) -> np.ndarray | None:
        none = np.zeros(len(self._names))
        if not self.settings.servo_stiffness:
            return None
        return np.stack([
            self._by_joint('servo_stiffness', none), self._by_joint('servo_damping', none)])

    def _deviations(self, robot: RobotModel) -> Deviations:
        settings = self.settings
        if settings.truth:
            return Deviations.load(settings.truth)
        rng = np.random.default_rng(settings.truth_seed)
        armature = self._by_joint('armature', np.zeros(0))
        return Deviations.drawn(robot, rng, armature if len(armature) else None)

    def _by_joint(self, name: str, default: np.ndarray) -> np.ndarray:
        """A parameter in the order of the description, shape ``(n,)``."""
        values = getattr(self.settings, name)
        if not values:
            return default
        if len(values) != len(self._names):
            raise ConfigurationError(
                'the list has the wrong length', where=name, found=len(values),
                allowed=len(self._names),
                fix='Give one number for each joint')
        return np.array(values)[self._place]

    def _advance(self) -> None:
        """Simulate until now, each command taken when it came, and publish on the way."""
        came = [
            (received, take, message) for subscription, take in self._inputs
            for message, received in subscription.take()
        ]
        here, clock = now(), time.time_ns()
        for received, take, message in sorted(came, key=lambda entry: entry[0]):
            self._simulate(here - 1e-9 * max(clock - received, 0))
            take(message)
        self._simulate(here)

    def _simulate(self, until: float) -> None:
        """Simulate until a time of the steady clock."""
        drives, timestep = self._drives, self.settings.timestep
        if drives is None:
            return
        due = int((until - self._began) / timestep) - self._lost - self._steps
        most = round(_CATCH_UP / timestep)
        if due > most:
            self._overruns += 1
            self._lost += due - most
            due = most
        for _ in range(due):
            torque = drives.step()
            self._steps += 1
            if self._steps % self._every == 0:
                self._publish(torque)

    def _publish(self, torque: np.ndarray) -> None:
        settings, message = self.settings, self._message
        q, v = self._plant.q[self._order], self._plant.v[self._order]
        noise = self._rng.standard_normal((2, len(q)))
        if settings.encoder_steps:
            step = 2.0 * np.pi / settings.encoder_steps
            q = np.round(q / step) * step
        seconds, nanoseconds = divmod(self._now(), 10**9)
        message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
        message.position = array('d', q.tobytes())
        message.velocity = array('d', (v + settings.velocity_noise * noise[0]).tobytes())
        if settings.efforts:
            message.effort = array(
                'd', (torque[self._order] + self._noise * noise[1]).tobytes())
        self._states.publish(message)

    def _take_efforts(self, message: Float64MultiArray) -> None:
        self._take(lambda drives: drives.take_torque(self._sorted(message.data)))

    def _take_positions(self, message: Float64MultiArray) -> None:
        self._take(lambda drives: drives.take_position(self._sorted(message.data)))

    def _take_trajectory(self, message: JointTrajectory) -> None:
        def follow(drives: Drives) -> None:
            points = message.points
            if points and sorted(message.joint_names) != sorted(self._names):
                raise SysidError(
                    'a trajectory of other joints', found=', '.join(message.joint_names),
                    allowed=', '.join(self._names),
                    fix='Name the joints of this robot, each once')
            order = [message.joint_names.index(self._names[k]) for k in self._place if points]
            late = self._late(message)
            times = [1e-9 * to_nanoseconds(p.time_from_start) - late for p in points]
            drives.take_trajectory(times, [
                [np.array(values)[order] for values in (p.positions, p.velocities, p.accelerations)
                 if len(values) == len(order)]
                for p in points
            ])

        self._take(follow)

    def _late(self, message: JointTrajectory) -> float:
        """Time in [s] since a trajectory began by its stamp; 0 without: it begins now."""
        begin = to_nanoseconds(message.header.stamp)
        return 1e-9 * (self._now() - begin) if begin else 0.0

    def _now(self) -> int:
        """The time of the simulation in [ns] since 1970."""
        elapsed = (self._steps + self._lost) * self.settings.timestep
        return int(self._epoch + round(elapsed * 1e9))

    def _take(self, follow: Callable[[Drives], None]) -> None:
        """Hand a command to the drives; what they refuse is said, and nothing moves by it."""
        if not self.active or self._drives is None:
            return
        try:
            follow(self._drives)
        except SysidError as error:
            self._refused, self._refusal = self._refused + 1, str(error)
            self.get_logger().warning(self._refusal, throttle_duration_sec=1.0)

    def _sorted(self, values: array[float]) -> np.ndarray:
        """Values of a command in the order of the description."""
        given = np.array(values)
        return given[self._place] if len(given) == len(self._place) else given

    def _stop(self, message: StopRequest) -> None:
        if self._drives is not None:
            self._drives.stop('; '.join(message.reasons) or f'{message.source} asked for it')


def _robot(description: str, loops: str) -> RobotModel:
    if not description:
        raise ConfigurationError(
            'which robot is not said', where='description', fix='Give the path of a URDF or MJCF')
    return RobotModel.from_description(
        Path(description).expanduser(),
        loops=LoopSettings.load(Path(loops).expanduser()) if loops else None)


def main() -> int:
    """Run the node."""
    return run(SimulatedRobot)


if __name__ == '__main__':
    sys.exit(main())
