"""A pendulum with Stribeck's friction, released and left to itself until it sticks.

The truth is exact: angles and speeds are integrated to rounding, and the hinge sticks and slips
when friction says so. Encoders have noise. As in the paper on discrete multibody dynamics, three
models of friction are fitted to one recording each and judged on the others, their states estimated
again and parameters as they are (section 4.5, Table 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from support import furuta_truth as truth
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, StribeckFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

# What missing impulses weigh: at the published 100 any motion is explained, friction or not.
SIGMA, STEP, WEIGHT = 1e-3, 0.01, 1e4
# In [N·m·s/rad] and [N·m]; at rest friction is half as large again, in [rad/s] down to where.
VISCOUS, DRY, EXTRA, VELOCITY = 2e-4, 1e-2, 0.5, 0.5
PLANT = truth.Pendulum(friction=(
    truth.Friction(viscous=VISCOUS, dry=DRY, extra=EXTRA, rate=1.0 / VELOCITY**2),))
# Angles in [rad] from which it is let go.
ANGLES = (0.8, 1.4, 2.2)
MODELS = ('viscous', 'dry', 'Stribeck')
_HINGE = 'hinge'
# Where the search begins, moments of inertia apart: half or twice of what is true.
_BEGIN = {
    'viscous_friction': 4e-4, 'coulomb_friction': 5e-3, 'stribeck_friction': 1e-3,
    'stribeck_velocity': 1.0}


def described() -> RobotModel:
    """The pendulum, its moment of inertia too large by a fifth."""
    inertia = 1.2 * PLANT.inertia
    return RobotModel.from_description(
        '<robot name="pendulum"><link name="stand"/><link name="rod"><inertial>'
        f'<origin xyz="0 0 {-PLANT.length}"/><mass value="{PLANT.mass}"/>'
        f'<inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="1e-4"/>'
        f'</inertial></link><joint name="{_HINGE}" type="continuous"><parent link="stand"/>'
        '<child link="rod"/><axis xyz="1 0 0"/></joint></robot>',
        gravity=(0.0, 0.0, -truth.GRAVITY))


def released(angle: float, seconds: float) -> Any:
    """The true motion from an angle."""
    return truth.release(PLANT, seconds, angle)


def problem_of(motion: Any, friction: str, seed: int = 0) -> TrajectoryProblem:
    """A recording to fit with one of ``MODELS``; what is sought begins beside the truth."""
    terms: list[Any] = [ViscousFriction()]
    if friction != 'viscous':
        terms.append(CoulombFriction())
    if friction == 'Stribeck':
        terms.append(StribeckFriction())
    model = TorqueModel(described(), terms)
    sought = ['rod.inertia_xx', *(
        name for name in model.parameters.names if name.startswith(f'{_HINGE}.'))]
    parameters = model.parameters.with_values({
        name: _BEGIN[name.split('.')[1]] for name in sought[1:]})
    every = round(STEP * truth.joints.RATE)
    nodes = motion.t[::every]
    segment = Segment(nodes, np.zeros((len(nodes), 1)), (Observation(
        Encoder.of((_HINGE,)), nodes, motion.measured(SIGMA, seed)[::every], np.array([SIGMA])),))
    return TrajectoryProblem(
        model, replace(parameters, free=np.isin(parameters.names, sought)), (segment,))


def estimator() -> MaximalCoordinatesEstimator:
    """How all is fitted."""
    return MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=WEIGHT)


def cost(problem: TrajectoryProblem, values: np.ndarray) -> float:
    """Mean squared error of states alone, parameters as they are, in [rad²] a node."""
    fixed = replace(problem, parameters=problem.parameters.with_values(values).fixed('*'))
    found = estimator().search(fixed, estimator().at(fixed, None), SearchLog(300))
    if not found.status.ok:
        raise RuntimeError(found.status.value)
    return 2.0 * SIGMA**2 * found.iterations[-1].cost / len(problem.segments[0].t)


def dissipated(problem: TrajectoryProblem, values: np.ndarray, speeds: np.ndarray) -> float:
    """Energy that friction with these parameters takes at speeds of the nodes, in [J]."""
    known = dict(zip(problem.parameters.names, values.tolist(), strict=True))

    def own(name: str) -> float:
        return known.get(f'{_HINGE}.{name}', 0.0)

    dry = own('coulomb_friction') + own('stribeck_friction') * np.exp(
        -(speeds / (own('stribeck_velocity') or 1.0))**2)
    power = own('viscous_friction') * speeds**2 + dry * np.abs(speeds)
    return float(problem.segments[0].step * (power.sum() - 0.5 * (power[0] + power[-1])))


def table(
    friction: str, motions: Sequence[Any], seed: int = 0
) -> tuple[list[float], list[float], list[float], list[bool]]:
    """Of fits to one motion each: costs, those of the others, energy over the true one, success."""
    problems = [problem_of(motion, friction, seed + k) for k, motion in enumerate(motions)]
    costs, crossed, energies, good = [], [], [], []
    for k, problem in enumerate(problems):
        found = estimator().solve(problem)
        own = [cost(other, found.values) for other in problems]
        costs.append(own.pop(k))
        crossed.append(float(np.mean(own)))
        taken = dissipated(problem, found.values, found.velocities[0][:, 0])
        energies.append(taken / float(motions[k].lost[-1, 0]))
        good.append(found.status.ok)
    return costs, crossed, energies, good
