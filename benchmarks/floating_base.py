"""A quadruped that sways and steps on the ground: what a fit finds of its base and its legs.

MuJoCo simulates Solo 12 on feet that slip and lift, with armature, dry and viscous friction. It is
recorded what such robots measure: encoders, torques of the drives, an IMU that is turned and sits
off the origin of the base, and force and moment of the ground at every foot, all with noise, in one
bag. The description that a user has is up to 20 % off in masses and knows no friction; settings say
that the base floats and which sensor sits where, and nothing else. The last third of the recording
is kept to judge by.

``python benchmarks/floating_base.py [--seconds S] [--seed SEED]``
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _one_core  # noqa: F401
import mujoco
import numpy as np
import yaml
from _plants import Plant, published
from rosbags.typesys import Stores, get_typestore

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.study import Study
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.model import RobotModel

ROBOT, BASE = 'Solo 12', 'base_link'
FEET = ('FL_FOOT', 'FR_FOOT', 'HL_FOOT', 'HR_FOOT')
STEP, RATE, HOLDOUT, START = 2.5e-4, 500.0, 1.0 / 3.0, 1_700_000_000.0
# Pose of the IMU in the base: roll, pitch, yaw and place.
IMU_RPY, IMU_ORIGIN = (0.0, np.pi, 0.4), (0.06, -0.02, 0.03)
# Standard deviations of the noise.
ENCODER, GYROSCOPE, ACCELEROMETER, FORCE, MOMENT, TORQUE = 1e-4, 2e-3, 0.03, 0.05, 1e-3, 0.01
# Errors of torques on unseen motion and of the robot's mass, base parameters that are right, and
# errors of simulated motion in those of coasting.
BAR_ERROR, BAR_MASS, BAR_WITHIN, BAR_MOTION = 0.02, 0.01, 0.9, 0.2


@dataclass(frozen=True, eq=False)
class Recorded:
    """What the sensors of the robot say.

    Attributes:
        t: Time in [s], shape ``(T,)``.
        q: Encoders in [rad], shape ``(T, n)``.
        tau: Torques of the drives in [N·m], shape ``(T, n)``.
        imu: Angular velocity and specific force, shape ``(T, 6)``.
        feet: Force and moment at each foot in its frame, shape ``(T, 4, 6)``.
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    imu: np.ndarray
    feet: np.ndarray


class Quadruped:
    """Solo 12 on the ground.

    Args:
        seed: Of all that is drawn.
    """

    def __init__(self, seed: int) -> None:
        path = published(ROBOT)
        assert path is not None, f'{ROBOT}: install example-robot-data'
        plant = Plant(path, seed)
        self._rng = rng = np.random.default_rng([seed, 3])
        self.description, self.prior = _bare(plant.description), _bare(plant.prior)
        self._model = model = _on_ground(self.description)
        self.joints = tuple(model.joint(k).name for k in range(1, model.njnt))
        assert self.joints == plant.joints
        n = len(self.joints)
        self.truth = {
            'armature': rng.uniform(0.002, 0.006, n),
            'viscous_friction': rng.uniform(0.01, 0.03, n),
            'coulomb_friction': rng.uniform(0.02, 0.08, n)}
        model.dof_armature[6:] = self.truth['armature']
        model.dof_damping[6:] = self.truth['viscous_friction']
        model.dof_frictionloss[6:] = self.truth['coulomb_friction']
        # By default dry friction of MuJoCo is soft: at rest it yields over 20 ms.
        model.dof_solref[6:] = 0.002, 1.0

    def recorded(self, seconds: float) -> Recorded:
        """What sensors say while it sways, and lifts one foot after the other."""
        model, rng, n = self._model, self._rng, len(self.joints)
        data = mujoco.MjData(model)
        stance = np.tile([0.0, 0.8, -1.6], 4)
        data.qpos[:7], data.qpos[7:] = [0.0, 0.0, 0.28, 1.0, 0.0, 0.0, 0.0], stance
        pace, phase = rng.uniform(0.2, 1.2, (n, 4)), rng.uniform(0.0, 2.0 * np.pi, (n, 4))
        every, settle = round(1.0 / (RATE * STEP)), round(1.0 / STEP)
        rows: list[np.ndarray] = []
        torque = np.zeros(n)
        for k in range(-settle, round(seconds / STEP)):
            t, before = max(k, 0) * STEP, torque
            goal = stance + self._sway(t, pace, phase)
            torque = 25.0 * (goal - data.qpos[7:]) - 0.4 * data.qvel[6:]
            data.qfrc_applied[6:] = torque
            if k >= 0 and k % every == 0:
                # Accelerations and contacts of the state that encoders see.
                mujoco.mj_forward(model, data)
                rows.append(np.concatenate([
                    [t], data.qpos[7:], 0.5 * (before + torque), data.sensordata[:6],
                    self._feet(data).ravel()]))
            mujoco.mj_step(model, data)
        table = np.array(rows)
        t, q, tau, imu, feet = np.split(table, np.cumsum([1, n, n, 6]), axis=1)
        noise = rng.standard_normal
        tau = tau + TORQUE * np.sqrt(np.mean(tau**2, axis=0)) * noise(tau.shape)
        imu = imu + np.repeat([GYROSCOPE, ACCELEROMETER], 3) * noise(imu.shape)
        feet = feet.reshape(len(t), 4, 6) + np.repeat([FORCE, MOMENT], 3) * noise((len(t), 4, 6))
        return Recorded(t[:, 0], q + ENCODER * noise(q.shape), tau, imu, feet)

    @staticmethod
    def _sway(t: float, pace: np.ndarray, phase: np.ndarray) -> np.ndarray:
        """Where joints are told to go beside the stance, shape ``(12,)``."""
        waves = np.sin(2.0 * np.pi * pace * t + phase).sum(axis=1)
        leg, part = divmod(t / 0.25, 1.0)
        bend = 0.25 * (1.0 + np.sin(2.0 * np.pi * 0.7 * t)) * np.tile([0.0, 1.0, -2.0], 4)
        lift = np.zeros(12)
        first = 3 * (0, 3, 1, 2)[int(leg) % 4]
        lift[first + 1:first + 3] = np.sin(np.pi * part) * np.array([0.12, -0.24])
        return min(t, 1.0) * (0.05 * waves + bend + lift)

    def _feet(self, data: mujoco.MjData) -> np.ndarray:
        """Force and moment of the ground at each foot, in its frame, shape ``(4, 6)``."""
        found, contact = np.zeros((4, 6)), np.zeros(6)
        bodies = [self._model.body(foot).id for foot in FEET]
        for k in range(data.ncon):
            touch = data.contact[k]
            owners = self._model.geom_bodyid[list(touch.geom)]
            mujoco.mj_contactForce(self._model, data, k, contact)
            frame = touch.frame.reshape(3, 3)
            for side, sign in ((0, -1.0), (1, 1.0)):
                if owners[side] in bodies:
                    foot = bodies.index(owners[side])
                    force, moment = sign * frame.T @ contact[:3], sign * frame.T @ contact[3:]
                    moment = moment + np.cross(touch.pos - data.xpos[owners[side]], force)
                    turn = data.xmat[owners[side]].reshape(3, 3).T
                    found[foot] += np.concatenate([turn @ force, turn @ moment])
        return found


def _bare(description: str) -> str:
    """A URDF without shapes and friction."""
    root = ET.fromstring(description)
    for parent, keys in (('link', ('visual', 'collision')), ('joint', ('dynamics',))):
        for part in root.iter(parent):
            for key in keys:
                for element in part.findall(key):
                    part.remove(element)
    return ET.tostring(root, encoding='unicode')


def _on_ground(description: str) -> mujoco.MjModel:
    """The robot with a free base, spheres for feet and an IMU, on a plane."""
    root = ET.fromstring(description)
    ET.SubElement(ET.SubElement(root, 'mujoco'), 'compiler', {
        'fusestatic': 'false', 'balanceinertia': 'true'})
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding='unicode'))
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    base = spec.body(BASE)
    base.add_freejoint()
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1], solref=[0.01, 1.0])
    for foot in FEET:
        spec.body(foot).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.016, 0.0, 0.0], solref=[0.01, 1.0], mass=0.0)
    turn = np.zeros(4)
    mujoco.mju_euler2Quat(turn, np.array(IMU_RPY), 'XYZ')
    base.add_site(name='imu', pos=list(IMU_ORIGIN), quat=turn)
    for name, kind in (('gyro', mujoco.mjtSensor.mjSENS_GYRO),
                       ('accelerometer', mujoco.mjtSensor.mjSENS_ACCELEROMETER)):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname='imu')
    return spec.compile()


def written(folder: Path, robot: Quadruped, recorded: Recorded) -> Path:
    """The recording as a bag, with settings that say what is needed."""
    types = get_typestore(Stores.ROS2_HUMBLE)
    stamps = np.round((START + recorded.t) * 1e9).astype(np.int64)

    def vector(values: np.ndarray) -> Any:
        return types.types['geometry_msgs/msg/Vector3'](*map(float, values))

    def header(stamp: int, frame: str) -> Any:
        time_of = types.types['builtin_interfaces/msg/Time'](
            int(stamp) // 1_000_000_000, int(stamp) % 1_000_000_000)
        return types.types['std_msgs/msg/Header'](stamp=time_of, frame_id=frame)

    def imu(stamp: int, row: np.ndarray) -> bytes:
        unknown, still = np.zeros(9), types.types['geometry_msgs/msg/Quaternion'](0., 0., 0., 1.)
        return bytes(types.serialize_cdr(types.types[IMU](
            header=header(stamp, 'imu'), orientation=still, orientation_covariance=unknown,
            angular_velocity=vector(row[:3]), angular_velocity_covariance=unknown,
            linear_acceleration=vector(row[3:]), linear_acceleration_covariance=unknown), IMU))

    def wrench(stamp: int, row: np.ndarray, frame: str) -> bytes:
        pair = types.types['geometry_msgs/msg/Wrench'](
            force=vector(row[:3]), torque=vector(row[3:]))
        return bytes(types.serialize_cdr(
            types.types[WRENCH](header=header(stamp, frame), wrench=pair), WRENCH))

    velocity = np.gradient(recorded.q, recorded.t, axis=0)
    payloads = [
        [bytes(each) for each in encode(stamps, robot.joints, {
            'position': recorded.q, 'velocity': velocity, 'effort': recorded.tau})],
        [imu(*row) for row in zip(stamps, recorded.imu, strict=True)],
        *([wrench(*row, foot) for row in zip(stamps, recorded.feet[:, k], strict=True)]
          for k, foot in enumerate(FEET))]
    topics = ['/joint_states', '/imu/data', *(f'/{foot}' for foot in FEET)]
    recorder = BagRecorder(folder / 'bag', topics, [JOINT_STATE, IMU, *[WRENCH] * len(FEET)],
                           waiting=sum(map(len, payloads)))
    for number, those in enumerate(payloads):
        recorder.add(number, those, stamps.tolist())
    recorder.finish()
    assert recorder.wait(60.0) and not recorder.error and not recorder.lost
    (folder / 'robot.urdf').write_text(robot.prior)
    mounted = {'link': BASE, 'topic': '/imu/data', 'rpy': list(IMU_RPY),
               'origin': list(IMU_ORIGIN)}
    sensors = {kind: {'kind': kind, **mounted} for kind in ('gyroscope', 'accelerometer')} | {
        f'{foot}_{kind}': {'kind': kind, 'link': foot, 'topic': f'/{foot}'}
        for foot in FEET for kind in ('force', 'moment')}
    settings = folder / 'settings.yaml'
    settings.write_text(yaml.safe_dump({
        'robot': {'description': 'robot.urdf', 'base': 'floating'},
        'recording': {'format': 'rosbag', 'file': 'bag', 'sensors': sensors}}))
    return settings


def figures(seed: int, seconds: float) -> list[dict[str, object]]:
    """What a fit with default settings finds of base and legs."""
    robot = Quadruped(seed)
    with tempfile.TemporaryDirectory() as where:
        path = written(Path(where), robot, robot.recorded(seconds))
        start = time.process_time()
        setup = FitSetup.load(path)
        study = Study.load(setup, holdout=HOLDOUT, estimator=setup.settings.fit.estimator)
        evaluation = study.fit(setup.settings.fit.estimator)
        took = time.process_time() - start
    estimate, problem = evaluation.estimate, study.training
    true = with_floating_base(RobotModel.from_urdf(robot.description))
    values = problem.parameters.with_values({
        f'{body}.{field}': value for body, phi in zip(
            true.body_names, true.inertial_prior, strict=True)
        for field, value in zip(INERTIAL_FIELDS, phi, strict=True)} | {
        f'{joint}.{field}': value for field, those in robot.truth.items()
        for joint, value in zip(robot.joints, those, strict=True)}).values
    expected = problem.base.values(values)
    # Constants of friction laws are no combinations that the truth has.
    linear = np.array(['smoothing' not in name for name in estimate.base_names])
    off = np.abs(estimate.base_values[linear] - expected)
    deviation = estimate.base_standard_deviation()[linear]
    right = off <= np.maximum(3.0 * deviation, 0.02 * np.abs(expected))
    mass, weighed = (float(sum(
        parameters[f'{body}.mass'] for body in true.body_names)) for parameters in (
            problem.parameters.with_values(
                dict(zip(problem.parameters.names, values, strict=True))), estimate.parameters))
    unseen, simulation = evaluation.held_out, evaluation.simulation
    error, simulated = unseen.candidate.relative_error, simulation.relative(simulation.candidate)
    print(f'{ROBOT}, seed {seed}: {estimate.status.name}, {took:.0f} s; torques that were not '
          f'fitted {100.0 * error:.2f} % off, the description '
          f'{100.0 * unseen.prior.relative_error:.2g} %; {weighed:.4g} kg of {mass:.4g} kg; '
          f'{"committable" if evaluation.verdict.committable else "NOT committable"}')
    return [
        {'name': 'floating base: error of torques that were not fitted', 'value': error,
         'unit': '', 'reference': f'the description, {unseen.prior.relative_error:.3g}',
         'bar': f'<= {BAR_ERROR:g}', 'ok': bool(estimate.status.ok and error <= BAR_ERROR)},
        {'name': 'floating base: base parameters within 3 deviations or 2 %',
         'value': float(right.mean()), 'unit': '', 'bar': f'>= {BAR_WITHIN:g}',
         'ok': bool(right.mean() >= BAR_WITHIN)},
        {'name': 'floating base: error of the mass of the robot', 'value': abs(weighed / mass - 1),
         'unit': '', 'bar': f'<= {BAR_MASS:g}', 'ok': abs(weighed / mass - 1) <= BAR_MASS},
        {'name': 'floating base: simulated motion over coasting', 'value': simulated, 'unit': '',
         'bar': f'<= {BAR_MOTION:g}', 'ok': simulated <= BAR_MOTION},
        {'name': 'floating base: may be committed', 'value': int(evaluation.verdict.committable),
         'unit': '', 'bar': '1', 'ok': evaluation.verdict.committable},
        {'name': 'floating base: time of the fit', 'value': took, 'unit': 's', 'ok': True}]


def main() -> None:
    """Simulate, fit, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=1)
    asked = parser.parse_args()
    print(json.dumps(figures(asked.seed, asked.seconds)))


if __name__ == '__main__':
    main()
