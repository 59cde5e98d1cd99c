"""Payload of 1 to 3 kg on a seven-joint arm whose own description is off, simulated in MuJoCo."""

from __future__ import annotations

import json
import time

import numpy as np
from scipy.signal import lfilter

from sysid_ros.demo.mujoco_plant import Plant, PlantFriction
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.release.description_export import export_description
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel

SEEDS, SECONDS, RATE, NOISE, BITS = 20, 20.0, 1000.0, 0.02, 16
MASS_BAR, MOMENT_BAR = 2.0, 5.0
# Whether both recordings have the same commanded motion, and over how many seconds the torque
# noise forgets itself; what is slower than a filter does not go away with it.
CASES = {
    'different motions': (False, 0.0),
    'same motion': (True, 0.0),
    'different motions, slow noise': (False, 0.1),
}
# Mass in [kg], length in [m], radius in [m] and axis of every link.
LINKS = (
    (4.0, 0.16, 0.07, '0 0 1'), (4.0, 0.20, 0.07, '0 1 0'), (3.0, 0.20, 0.06, '0 0 1'),
    (2.7, 0.20, 0.06, '0 1 0'), (1.7, 0.18, 0.05, '0 0 1'), (1.6, 0.10, 0.05, '0 1 0'),
    (0.4, 0.08, 0.04, '0 0 1'),
)
VISCOUS = np.array([1.0, 1.0, 0.6, 0.6, 0.3, 0.3, 0.1])
COULOMB = np.array([2.0, 2.0, 1.2, 1.2, 0.6, 0.5, 0.2])
ARMATURE = np.array([0.3, 0.3, 0.2, 0.2, 0.1, 0.05, 0.02])
INERTIA = np.array([2.5, 2.5, 0.8, 0.8, 0.15, 0.08, 0.03])
REACH = np.array([2.5, 1.6, 2.5, 1.8, 2.5, 1.8, 2.5])
PROCESSING = Processing(position_filter=LowPass(cutoff=40.0))
FILTER = ParallelFilter(cutoff=10.0, decimate_to=25.0)


def arm() -> RobotModel:
    """The arm as described: solid cylinders."""
    parts = ['<link name="base"/>']
    for k, (mass, length, radius, axis) in enumerate(LINKS, start=1):
        across = mass * (3.0 * radius**2 + length**2) / 12.0
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0.01 0.01 {length / 2}"/>'
            f'<mass value="{mass}"/><inertia ixx="{across}" ixy="0" ixz="0" iyy="{across}" '
            f'iyz="0" izz="{mass * radius**2 / 2}"/></inertial></link>'
            f'<joint name="joint{k}" type="revolute">'
            f'<parent link="{"base" if k == 1 else f"link{k - 1}"}"/><child link="link{k}"/>'
            f'<origin xyz="0 0 {0.2 if k == 1 else LINKS[k - 2][1]}"/><axis xyz="{axis}"/>'
            '<limit lower="-2.9" upper="2.9" velocity="4" effort="300"/></joint>'
        )
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(parts)}</robot>')


def off(robot: RobotModel, rng: np.random.Generator) -> np.ndarray:
    """True parameters of the arm: masses up to 20 % and centres of mass 2 cm off."""
    values = []
    for phi in robot.inertial_prior:
        mass, com, inertia = central_inertia(phi)
        factor, shift = rng.uniform(0.8, 1.2), rng.normal(size=3)
        shift *= 0.02 / np.linalg.norm(shift)
        values.append(inertial_parameters(factor * mass, com + shift, factor * inertia))
    return np.array(values)


def load(rng: np.random.Generator) -> np.ndarray:
    """A solid box of 1 to 3 kg in the frame of the last link."""
    mass = rng.uniform(1.0, 3.0)
    sides = rng.uniform(0.06, 0.16, 3)
    com = np.array([*rng.uniform(-0.05, 0.05, 2), rng.uniform(0.1, 0.18)])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moments = mass / 12.0 * (np.sum(sides**2) - sides**2)
    return inertial_parameters(mass, com, (turn * moments) @ turn.T)


def motion(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random motion of five sines per joint, from rest and back."""
    t = np.arange(int(SECONDS * RATE)) / RATE
    pace = 2.0 * np.pi * rng.uniform(0.08, 0.55, (5, len(LINKS)))
    phase = rng.uniform(0.0, 2.0 * np.pi, (5, len(LINKS)))
    waves = np.sin(pace * t[:, None, None] + phase).sum(axis=1)
    waves *= 0.8 * REACH / np.abs(waves).max(axis=0)
    ends = np.clip(np.minimum(t, t[-1] - t) / 2.0, 0.0, 1.0)
    waves *= (ends**3 * (10.0 - 15.0 * ends + 6.0 * ends**2))[:, None]
    return waves, np.gradient(waves, t, axis=0)


def noise(rng: np.random.Generator, shape: tuple[int, int], memory: float) -> np.ndarray:
    """Noise of unit size, white or of first order with a time constant in [s]."""
    white = rng.normal(size=shape)
    if memory == 0.0:
        return white
    decay = np.exp(-1.0 / (memory * RATE))
    return lfilter([np.sqrt(1.0 - decay**2)], [1.0, -decay], white, axis=0)


def record(
    robot: RobotModel, truth: np.ndarray, seed: int, rng: np.random.Generator, memory: float
) -> Recording:
    """Encoders and torques while a stiff controller tracks a random motion."""
    model = TorqueModel(robot)
    text = export_description(robot, model.parameters.with_values(truth.ravel())).xml.decode()
    plant = Plant(text, robot.joint_names, PlantFriction(VISCOUS, COULOMB, ARMATURE))
    reference, rate = motion(np.random.default_rng(seed))
    q, tau = np.empty_like(reference), np.empty_like(reference)
    plant.reset(reference[0])
    for k in range(len(q)):
        q[k] = plant.q
        tau[k] = INERTIA * (600.0 * (reference[k] - q[k]) + 45.0 * (rate[k] - plant.v))
        plant.step(tau[k])
    step = 2.0 * np.pi / 2**BITS
    tau += NOISE * np.sqrt(np.mean(tau**2, axis=0)) * noise(rng, tau.shape, memory)
    t = np.arange(len(q)) / RATE
    return Recording((
        Channel('position', robot.joint_names, 'rad', t, np.round(q / step) * step),
        Channel('effort', robot.joint_names, 'N·m', t, tau),
    ), 'simulated', '')


def problem(robot: RobotModel, recording: Recording) -> RegressionProblem:
    """Rows of a recording, as a settings file would make them."""
    terms = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature())
    return RegressionProblem.from_dataset(
        TorqueModel(robot, terms), align(recording, robot.joint_names, PROCESSING),
        parallel_filter=FILTER, minimum_velocity=0.02,
    )


def by_description(problem: RegressionProblem) -> float:
    """Mass of the load if the description were right: the torque it leaves, on the last link."""
    parameters = problem.parameters
    left = problem.torque - problem.regressor @ parameters.prior
    # Friction is not in the description: its columns are fitted along with the load's.
    columns = [*range(*parameters.body_slice('link7').indices(len(parameters)))]
    columns += range(10 * len(parameters.bodies), len(parameters))
    usable = problem.usable
    return float(np.linalg.lstsq(problem.regressor[usable][:, columns], left[usable])[0][0])


def trial(robot: RobotModel, seed: int, same: bool, memory: float) -> tuple[float, ...]:
    """Errors of mass and first moment in %, of mass in deviations and by the description, time."""
    rng = np.random.default_rng(seed)
    own, extra = off(robot, rng), load(rng)
    full = own.copy()
    full[-1] += extra
    motions = rng.integers(2**32, size=2)
    empty = problem(robot, record(robot, own, motions[0], rng, memory))
    loaded = problem(robot, record(robot, full, motions[0 if same else 1], rng, memory))
    start = time.process_time()
    found = identify_payload(loaded, empty)
    spent = time.process_time() - start
    if not (found.status.ok and found.consistent):
        raise SystemExit(f'seed {seed}: {found.status.value}')
    mass, moment = extra[0], np.linalg.norm(extra[1:4])
    return (
        100.0 * abs(found.mass / mass - 1.0),
        100.0 * float(np.linalg.norm(found.first_moment - extra[1:4]) / moment),
        float((found.mass - mass) / found.standard_deviation[0]),
        100.0 * abs(by_description(loaded) / mass - 1.0),
        spent,
    )


def main() -> None:
    robot, figures = arm(), []
    for name, (same, memory) in CASES.items():
        results = np.array([trial(robot, seed, same, memory) for seed in range(SEEDS)])
        mass, moment, deviations, described, spent = results.T
        print(
            f'{name}: mass error worst {mass.max():.2f} %, median {np.median(mass):.2f} %; first '
            f'moment worst {moment.max():.2f} %, median {np.median(moment):.2f} %; mass error '
            f'over its deviation, rms {np.sqrt(np.mean(deviations**2)):.2f}; '
            f'{1e3 * np.median(spent):.0f} ms per fit'
        )
        reference = f'the description in place of the empty arm: {np.median(described):.0f} %'
        for what, value, bar, beside in (
            ('mass', mass.max(), MASS_BAR, reference), ('first moment', moment.max(), MOMENT_BAR,
                                                        None),
        ):
            figures.append({
                'name': f'payload {what}, worst of {SEEDS} seeds, {name}', 'value': float(value),
                'unit': '%', 'reference': beside, 'ratio': None, 'bar': f'<= {bar:g} %',
                'ok': bool(value <= bar),
            })
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
