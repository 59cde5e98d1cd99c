"""A three-joint arm from 14-bit encoders and known torques alone: collocation against regression.

Both see the same samples and the same torque model. Regression differentiates the encoders
twice, behind a zero-phase low-pass; the cut-off that turns out best against the truth is taken,
which nobody could know. Collocation seeks states and parameters together. Errors are those of the
torque on motion that was not recorded, exact and without noise.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

import _one_core  # noqa: F401
import numpy as np

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.assessment import assess, determined_parameters
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import accelerations
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.robot.model import RobotModel

TRIALS, SECONDS, RATE, BITS = 20, 10.0, 200.0, 14
SUBSTEPS = 3
CUTOFFS = (3.0, 5.0, 8.0, 12.0, 20.0)
STEP = 2.0 * np.pi / 2**BITS
# Gains of the controller that moves the arm.
STIFFNESS, DAMPING = np.array([200.0, 200.0, 60.0]), np.array([20.0, 20.0, 6.0])
BAR_COVERAGE = 0.9

ARM = """<robot name="arm"><link name="base"/>
  <link name="turret"><inertial><origin xyz="0.02 0.01 0.1"/><mass value="4.0"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.02" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.2 0.01 0.02"/><mass value="3.0"/>
    <inertia ixx="0.008" iyy="0.05" izz="0.05" ixy="0" ixz="0.001" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0.01"/><mass value="1.5"/>
    <inertia ixx="0.003" iyy="0.015" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="yaw" type="revolute"><parent link="base"/><child link="turret"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 0 1"/><dynamics damping="0.6" friction="0.4"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="shoulder" type="revolute"><parent link="turret"/><child link="upper"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.5"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/><dynamics damping="0.2" friction="0.2"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint></robot>"""


def reference(t, rng):
    """Random waves that do not repeat: positions, velocities and accelerations, ``(T, 3)`` each.

    Where motion repeats so does what encoders round, and a second look tells nothing new.
    """
    order = np.arange(1, 6)[:, None] + rng.uniform(-0.4, 0.4, (5, 3))
    w = 2.0 * np.pi * order / 5.0
    a, b = 0.5 * rng.normal(size=(2, 5, 3)) / order
    c, s = np.cos(t[:, None, None] * w), np.sin(t[:, None, None] * w)
    return tuple(
        parts.sum(axis=1)
        for parts in (a * s + b * c, w * (a * c - b * s), -w**2 * (a * s + b * c)))


def moved(model, truth, rng):
    """True motion ``(T, trials, 3)`` and torque under control, straight between samples."""
    t = np.arange(round(SECONDS * RATE) + 1) / RATE
    wanted = [reference(t, rng) for _ in range(TRIALS)]
    q, v, a = (np.stack(parts, axis=1) for parts in zip(*wanted, strict=True))
    ahead = model.torque(truth, *(x.reshape(-1, 3) for x in (q, v, a))).reshape(q.shape)
    state, torque, path = np.concatenate([q[0], v[0]], axis=1), ahead.copy(), []
    h = 1.0 / RATE / SUBSTEPS

    def slope(x, u):
        rate = accelerations(model, truth, x[:, :3], x[:, 3:], u)
        return np.concatenate([x[:, 3:], rate], axis=1)

    for k in range(len(t) - 1):
        path.append(state)
        torque[k + 1] += STIFFNESS * (q[k] - state[:, :3]) + DAMPING * (v[k] - state[:, 3:])
        change = (torque[k + 1] - torque[k]) / SUBSTEPS
        for part in range(SUBSTEPS):
            u = torque[k] + part * change
            k1 = slope(state, u)
            k2 = slope(state + 0.5 * h * k1, u + 0.5 * change)
            k3 = slope(state + 0.5 * h * k2, u + 0.5 * change)
            k4 = slope(state + h * k3, u + change)
            state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return t, np.array([*path, state]), torque


def prior(model, truth, rng):
    """The parameters with masses off by a fifth and friction by half."""
    values = truth.copy()
    for body in model.parameters.bodies:
        values[model.parameters.body_slice(body)] *= rng.uniform(0.8, 1.2)
    friction = slice(10 * len(model.parameters.bodies), None)
    values[friction] *= rng.uniform(0.5, 1.5, 6)
    return replace(model.parameters, values=values, prior=values)


def collocated(model, parameters, t, measured, torque):
    """The estimate by collocation, what is known of it, and the time it took in [s]."""
    sensor = Encoder.of(model.robot.joint_names)
    observation = Observation(sensor, t, measured, np.full(3, STEP / np.sqrt(12.0)))
    problem = TrajectoryProblem(model, parameters, (Segment(t, torque, (observation,)),))
    start = time.perf_counter()
    solution = CollocationEstimator().solve(problem)
    spent = time.perf_counter() - start
    if not solution.status.ok:
        raise SystemExit(f'collocation: {solution.status.value}')
    return problem, solution, spent


def covered(problem, solution, truth, estimate):
    """Whether each base parameter's 95 % interval holds the truth.

    Those that are held are wrong; the others make up for it.
    """
    known = determined_parameters(problem, solution.information)
    equivalent = truth - (truth - solution.values)[known.held] @ known.combinations
    error = (solution.values - equivalent)[known.mask]
    return np.abs(error) < 1.96 * np.sqrt(np.diag(estimate.base_covariance))


def differentiated(model, parameters, t, measured, torque, cutoff):
    """The estimate by weighted regression behind a low-pass."""
    names = model.robot.joint_names
    recording = Recording((
        Channel('position', names, 'rad', t, measured),
        Channel('effort', names, 'N·m', t, torque)), 'simulated', '')
    processing = Processing.model_validate({
        'position_filter': {'cutoff': cutoff}, 'differentiation': 'central4',
        'parallel_filter': {'cutoff': cutoff, 'decimate_to': 2.5 * cutoff}})
    problem = RegressionProblem.from_dataset(
        model, align(recording, names, processing),
        parallel_filter=processing.parallel_filter, parameters=parameters)
    return make_estimator('wls').fit(problem)


def main():
    """Print the figures."""
    model = TorqueModel(
        RobotModel.from_urdf(ARM), (ViscousFriction(), CoulombFriction(smoothing=0.05)))
    truth, rng = model.parameters.values, np.random.default_rng(0)
    t, states, torques = moved(model, truth, rng)
    unseen = random_motion(model.robot, 2000, 1)
    exact = model.torque(truth, *unseen)
    inside, times, ours = [], [], []
    theirs = {cutoff: [] for cutoff in CUTOFFS}
    for trial in range(TRIALS):
        parameters = prior(model, truth, rng)
        shift = STEP * rng.uniform(size=3)
        measured = STEP * np.round((states[:, trial, :3] + shift) / STEP) - shift
        data = model, parameters, t, measured, torques[:, trial]
        problem, solution, spent = collocated(*data)
        estimate = assess(problem, solution, estimator='collocation', settings={})
        inside.append(covered(problem, solution, truth, estimate))
        times.append(spent)

        def error(values):
            return np.linalg.norm(model.torque(values, *unseen) - exact) / np.linalg.norm(exact)

        ours.append(error(solution.values))
        for cutoff in CUTOFFS:
            found = differentiated(*data, cutoff)
            theirs[cutoff].append(error(found.parameters.values))
    best = min(theirs, key=lambda cutoff: np.median(theirs[cutoff]))
    mine, other = float(np.median(ours)), float(np.median(theirs[best]))
    share = float(np.mean(inside))
    listed = ', '.join(f'{100 * np.median(e):.3f} % at {c:g} Hz' for c, e in theirs.items())
    print(f'error of the torque on unseen motion: collocation {100 * mine:.4f} %, {listed}')
    print(f'95 % intervals hold {100 * share:.1f} % of {np.size(np.concatenate(inside))} base '
          f'parameters; {np.median(times):.2f} s a fit of {len(t)} nodes')
    print(json.dumps([
        {'name': f'torque error from {BITS}-bit encoders, unseen motion', 'value': 100.0 * mine,
         'unit': '%', 'reference': f'weighted regression at {best:g} Hz {100.0 * other:.3g} %',
         'ratio': other / mine, 'bar': 'better', 'ok': bool(other > mine)},
        {'name': 'coverage of 95 % intervals', 'value': share, 'unit': '',
         'bar': f'>= {BAR_COVERAGE:g}', 'ok': bool(share >= BAR_COVERAGE)},
    ]))


if __name__ == '__main__':
    main()
