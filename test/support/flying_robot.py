"""A robot whose base is held by a hand that measures, and the bag of its sensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from rosbags.typesys import Stores, get_typestore

from support import robot_factory as factory
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel

TYPES = get_typestore(Stores.ROS2_HUMBLE)
START, RATE, SECONDS = 1_700_000_000.0, 400.0, 12.0
# The IMU is turned against the base and away from its origin; so is the hand's sensor.
IMU_RPY, IMU_ORIGIN = (0.3, -0.2, 1.0), (0.1, -0.05, 0.08)
HAND_RPY, HAND_ORIGIN = (-0.4, 0.1, 0.6), (-0.1, 0.02, 0.05)
TOPICS = {'/joint_states': JOINT_STATE, '/imu': IMU, '/foot': WRENCH}


def pose(rpy: tuple[float, ...], origin: tuple[float, ...]) -> np.ndarray:
    """A pose by roll, pitch, yaw and place, shape ``(4, 4)``."""
    return np.array(pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(origin)).homogeneous)


def vector(values: Any) -> Any:
    """A ``geometry_msgs/Vector3``."""
    return TYPES.types['geometry_msgs/msg/Vector3'](*map(float, values))


def header(t: float | None, frame: str) -> Any:
    """A header; without a stamp where there is no time."""
    nanoseconds = round((START + t) * 1e9) if t is not None else 0
    stamp = TYPES.types['builtin_interfaces/msg/Time'](
        nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000)
    return TYPES.types['std_msgs/msg/Header'](stamp=stamp, frame_id=frame)


def wrench_bytes(t: float | None, force: Any, moment: Any, frame: str = 'link0') -> bytes:
    """A ``WrenchStamped``."""
    message = TYPES.types[WRENCH](
        header=header(t, frame), wrench=TYPES.types['geometry_msgs/msg/Wrench'](
            force=vector(force), torque=vector(moment)))
    return bytes(TYPES.serialize_cdr(message, WRENCH))


def imu_bytes(t: float, turning: Any, felt: Any, *, unmeasured: bool = False) -> bytes:
    """An ``Imu``, without linear acceleration where that is not measured."""
    covariance = np.zeros(9)
    message = TYPES.types[IMU](
        header=header(t, 'imu'),
        orientation=TYPES.types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        orientation_covariance=covariance, angular_velocity=vector(turning),
        angular_velocity_covariance=covariance, linear_acceleration=vector(felt),
        linear_acceleration_covariance=np.array([-1.0, *covariance[1:]]) if unmeasured
        else covariance)
    return bytes(TYPES.serialize_cdr(message, IMU))


def write(folder: Path, messages: dict[str, tuple[Any, list[bytes]]]) -> None:
    """A bag of messages of each topic: times in [s] and bytes."""
    recorder = BagRecorder(
        folder, list(messages), [TOPICS[topic] for topic in messages])
    for number, (times, payloads) in enumerate(messages.values()):
        recorder.add(number, payloads, [round((START + t) * 1e9) for t in times])
    recorder.finish()
    assert recorder.wait(30.0) and not recorder.error and not recorder.lost


def _smooth(
    rng: np.random.Generator, columns: int, size: float
) -> Callable[[np.ndarray], tuple[np.ndarray, ...]]:
    """Values of a random motion, and two derivatives, at any time."""
    rates = 2.0 * np.pi * np.array([0.3, 0.7, 1.1])
    a, b = size * rng.normal(size=(2, 3, columns)) / rates[:, None]

    def at(t: np.ndarray) -> tuple[np.ndarray, ...]:
        s, c = np.sin(t[:, None] * rates), np.cos(t[:, None] * rates)
        return s @ a + c @ b, (c * rates) @ a - (s * rates) @ b, -(s * rates**2) @ a - (
            c * rates**2) @ b

    return at


@dataclass(frozen=True, eq=False)
class FlyingRobot:
    """The robot with what it does.

    Attributes:
        robot: The robot with a floating base, as described.
        truth: Its true inertial parameters.
        folder: Where ``robot.urdf`` and ``bag`` are.
        moves: Joint motion, base motion and torques of all joints at times.
    """

    robot: RobotModel
    truth: np.ndarray
    folder: Path
    moves: Callable[[np.ndarray], tuple[tuple[np.ndarray, ...], BaseMotion, np.ndarray]]

    @property
    def sections(self) -> dict[str, Any]:
        """Settings that say what is needed."""
        imu = {'link': 'link0', 'topic': '/imu', 'rpy': [*IMU_RPY], 'origin': [*IMU_ORIGIN]}
        hand = {'link': 'link0', 'topic': '/foot', 'rpy': [*HAND_RPY], 'origin': [*HAND_ORIGIN]}
        return {
            'robot': {'urdf': 'robot.urdf', 'base': 'floating'},
            'recording': {'format': 'rosbag', 'file': 'bag', 'sensors': {
                **{kind: {'kind': kind, **imu} for kind in ('gyroscope', 'accelerometer')},
                **{kind: {'kind': kind, **hand} for kind in ('force', 'moment')}}},
            'processing': {'trim': [0.1, 0.1]}}

    def settings(self, name: str = 'fly.yaml', **sections: Any) -> Path:
        """A settings file, some sections of it with other keys.

        Args:
            name: Its name.
            sections: Keys and values by section; values of None are left out.
        """
        data = self.sections
        for section, changes in sections.items():
            merged = {**data.get(section, {}), **changes}
            data[section] = {key: value for key, value in merged.items() if value is not None}
        path = self.folder / name
        path.write_text(yaml.safe_dump(data))
        return path


def flying_robot(folder: Path) -> FlyingRobot:
    """The robot of four joints, its bag written to a folder."""
    rng = np.random.default_rng(3)
    text = factory.random_urdf(11, 4, fixed_fraction=0.0)
    trunk = f'<link name="link0">{factory.random_inertial(rng)}</link>'
    text = text.replace('<link name="link0"/>', trunk)
    (folder / 'robot.urdf').write_text(text)
    robot = with_floating_base(RobotModel.from_urdf(text))
    truth = []
    for phi in robot.inertial_prior:
        mass, com, inertia = central_inertia(phi)
        factor = rng.uniform(0.7, 1.3)
        truth.append(inertial_parameters(
            factor * mass, com + rng.uniform(-0.03, 0.03, 3), factor * inertia))
    inertials = np.concatenate(truth)
    joints, turn, push = (_smooth(rng, n, size) for n, size in (
        (len(robot.joint_names) - 6, 1.0), (3, 1.0), (3, 3.0)))

    def moves(t: np.ndarray) -> tuple[tuple[np.ndarray, ...], BaseMotion, np.ndarray]:
        q, v, a = joints(t)
        omega, alpha, _ = turn(t)
        base = BaseMotion(omega, alpha, push(t)[0] + [0.0, 0.0, 9.81])
        return (q, v, a), base, TorqueModel(robot).torque(inertials, *base.with_joints(q, v, a))

    flying = FlyingRobot(robot, inertials, folder, moves)
    _record(flying)
    return flying


def readings(flying: FlyingRobot, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """What encoders, drives, the IMU and the hand measure at times, without noise.

    Returns:
        Positions, velocities and torques of the joints, ``(T, n)`` each; angular velocity and
        specific force, and force and moment, shape ``(T, 6)`` each.
    """
    (q, v, _), base, tau = flying.moves(t)
    turned, arm = pose(IMU_RPY, IMU_ORIGIN)[:3, :3], np.array(IMU_ORIGIN)
    felt = base.proper_acceleration + np.cross(base.angular_acceleration, arm) + np.cross(
        base.angular_velocity, np.cross(base.angular_velocity, arm))
    imu = np.hstack([base.angular_velocity @ turned, felt @ turned])
    return q, v, tau[:, 6:], imu, _at_hand(_on_base(flying.robot, tau[:, :6]))


def _record(flying: FlyingRobot) -> None:
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    # Sensors have clocks of their own: the foot comes between joint states, and half as often.
    late = t[:-1:2] + 0.4 / RATE
    q, v, tau, imu, _ = readings(flying, t)
    write(flying.folder / 'bag', {
        '/joint_states': (t, [bytes(payload) for payload in encode(
            np.round((START + t) * 1e9).astype(np.int64), flying.robot.joint_names[6:],
            {'position': q, 'velocity': v, 'effort': tau})]),
        '/imu': (t, [imu_bytes(at, row[:3], row[3:]) for at, row in zip(t, imu, strict=True)]),
        '/foot': (late, [
            wrench_bytes(at, row[:3], row[3:])
            for at, row in zip(late, readings(flying, late)[4], strict=True)]),
    })


def _on_base(robot: RobotModel, columns: np.ndarray) -> np.ndarray:
    """The wrench on the base that gives its six rows, in its own axes."""
    model = robot.pinocchio_model
    frame = model.getBodyId('link0')
    jacobian = pin.computeFrameJacobian(
        model, model.createData(), np.zeros(model.nq), frame, pin.ReferenceFrame.LOCAL)
    return np.asarray(np.linalg.solve(jacobian[:, :6].T, columns.T).T)


def _at_hand(wrench: np.ndarray) -> np.ndarray:
    """The same wrench about the hand's sensor and in its axes, by Pinocchio."""
    placed = pin.SE3(pose(HAND_RPY, HAND_ORIGIN))
    return np.array([placed.actInv(pin.Force(row)).vector for row in wrench])
