"""Designed motions: time, what they tell beside random ones, feasibility, gradient, growth.

A rival is a random motion of the same family and duration, scaled about the same pose until its
first limit binds.
"""

from __future__ import annotations

import _one_core  # noqa: F401  # isort: skip  (pins before NumPy is loaded)

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
from _arms import branched, serial

from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.constraints import Constraint
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.geometry.clearance import Box, BoxClearance
from sysid_ros.excitation.geometry.meeting_pairs import self_clearance
from sysid_ros.excitation.geometry.shapes import capsules_of
from sysid_ros.excitation.playback.preparation import stopping_time
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.torque_model import TorqueModel

RIVALS, NOISES, SEEDS = 2000, 50, 50
DURATION = 10.0
# Rivals that are identified with, and rows per second that they are identified from.
IDENTIFIED, ROWS = 200, 25.0
TORQUE_NOISE = 0.01  # of the effort limit
FLOOR = Box('floor', (-5.0, -5.0, -1.0), (5.0, 5.0, -0.1))


def designer(model: TorqueModel, harmonics: int = 5, **settings: float) -> Designer:
    """A designer with margins as they are by default, without obstacles."""
    limits = MotionLimits.of(model.robot)
    return Designer(
        model, Information.of(model, limits), limits,
        FourierBasis(DURATION, tuple(range(1, harmonics + 1))),
        replace(DesignSettings(), **settings),
    )


def obstacles(search: Designer) -> tuple[Constraint, ...]:
    """The robot itself and the floor."""
    capsules = capsules_of(search.model.robot)
    own = self_clearance(search.model.robot, capsules, search.limits.centre)
    return own, BoxClearance(capsules, (FLOOR,))


def against_rivals(search: Designer) -> Iterator[dict[str, object]]:
    """Time, determinant, condition and accuracy of identification."""
    search.design()
    start = time.perf_counter()
    best = search.design()
    elapsed = time.perf_counter() - start
    yield {'name': 'design, 7 joints, 10 s, 5 harmonics', 'value': elapsed, 'unit': 's',
           'bar': '<= 10 s', 'ok': elapsed <= 10.0}
    rest = search.rest()
    rivals = [search.random_motion(rest, seed) for seed in range(1000, 1000 + RIVALS)]
    costs = np.array([search.cost(rival) for rival in rivals])
    mine = search.cost(best.coefficients)
    yield {'name': f'log det of the information, best of {RIVALS} random motions beside',
           'value': -mine, 'unit': '', 'reference': f'{-costs.min():.1f}', 'ratio': None,
           'bar': '>= reference', 'ok': bool(-mine >= -costs.min())}
    excitations = [replace(best, coefficients=rival) for rival in rivals]
    numbers = np.array([condition(search, rival) for rival in excitations])
    number, median = condition(search, best), float(np.median(numbers))
    yield {'name': 'condition of the scaled base regressor', 'value': number, 'unit': '',
           'reference': f'median {median:.0f}, best {numbers.min():.0f} of the random motions',
           'ratio': median / number, 'bar': 'ratio >= 2', 'ok': number <= 0.5 * median}
    errors = np.array([base_errors(search, rival) for rival in excitations[:IDENTIFIED]])
    own = float(np.median(base_errors(search, best)))
    typical = float(np.median(np.median(errors, axis=1)))
    yield {'name': f'error of base parameters, {NOISES} noise seeds', 'value': 100.0 * own,
           'unit': '% of the prior', 'reference': f'{100.0 * typical:.2f} % with random motions',
           'ratio': typical / own, 'bar': 'ratio >= 1.5', 'ok': typical >= 1.5 * own}


def base_rows(search: Designer, excitation: Excitation, rate: float) -> tuple[np.ndarray, Motion]:
    """Rows of the base regressor in parts of the torque noise, shape ``(T n, r)``."""
    motion = excitation.grid(rate)
    rows = search.model.regressor(motion.q, motion.v, motion.a)
    rows = rows[:, :, search.information.base.independent] / noise(search)[:, None]
    return rows.reshape(-1, rows.shape[-1]), motion


def noise(search: Designer) -> np.ndarray:
    """Standard deviation of the torque noise per joint in [N·m]."""
    return TORQUE_NOISE * search.limits.effort


def condition(search: Designer, excitation: Excitation) -> float:
    """Condition number of the base regressor with columns of equal size."""
    rows, _ = base_rows(search, excitation, ROWS)
    return float(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))


def base_errors(search: Designer, excitation: Excitation) -> np.ndarray:
    """Errors of weighted least squares on simulated torques, in parts of usual changes.

    Torques come from Pinocchio and from friction and armature written out here.
    """
    rows, motion = base_rows(search, excitation, ROWS)
    model, base = search.model, search.information.base
    values = true_values(model)
    torque = pinocchio_torque(model, values, motion)
    draws = np.random.default_rng(0).normal(size=(rows.shape[0], NOISES))
    measured = (torque / noise(search)).ravel()[:, None] + draws
    found = np.linalg.lstsq(rows, measured, rcond=None)[0]
    error = np.linalg.solve(search.information.steps, found - (base.matrix @ values)[:, None])
    return np.sqrt(np.mean(error**2, axis=0))


def true_values(model: TorqueModel) -> np.ndarray:
    """The described bodies, with friction and armature that descriptions do not have."""
    values = model.parameters.prior.copy()
    values[10 * len(model.robot.body_names):] = 0.5
    return values


def pinocchio_torque(model: TorqueModel, values: np.ndarray, motion: Motion) -> np.ndarray:
    """Torques of the arm by recursive Newton-Euler, with joint terms, shape ``(T, n)``."""
    tree, joints = model.robot.pinocchio_model, len(model.robot.joint_names)
    data = tree.createData()
    rigid = np.array([
        pin.rnea(tree, data, *sample)
        for sample in zip(motion.q, motion.v, motion.a, strict=True)
    ])
    viscous, coulomb, armature = values[10 * len(model.robot.body_names):].reshape(3, joints)
    return np.asarray(
        rigid + viscous * motion.v + coulomb * np.tanh(motion.v / 0.05) + armature * motion.a
    )


def feasibility() -> Iterator[dict[str, object]]:
    """Every motion of every seed on a grid of 1 kHz, with the robot and the floor in the way.

    Besides the verification itself, limits are checked by plain comparison, with torques of
    Pinocchio, and whether the motion can be stopped everywhere.
    """
    for name, model in (('3 joints', serial(3)), ('6 joints', serial(6)),
                        ('7 joints', serial(7)), ('branched, 5 joints', branched())):
        kept, used = 0, []
        for seed in range(SEEDS):
            search = designer(model, seed=seed, starts=1, iterations=60)
            search = replace(search, obstacles=obstacles(search))
            settings = search.settings
            excitation = search.design()
            motion = excitation.grid(1000.0)
            found = search.verify(motion)
            stopping_time(search, excitation)
            kept += found.allowed and keeps_limits(search, motion)
            used.append(max(float(part.max()) for part in found.used.values()))
        yield {'name': f'feasible at 1 kHz, {name}', 'value': 100.0 * kept / SEEDS, 'unit': '%',
               'reference': f'margins {100 * settings.margin:.0f} %, torque '
               f'{100 * settings.effort_margin:.0f} %; median use {100 * np.median(used):.0f} %',
               'bar': '100 %', 'ok': kept == SEEDS}


def keeps_limits(search: Designer, motion: Motion) -> bool:
    """Whether a motion keeps every limit with its margin, but for rounding."""
    limits, free = search.limits, (1.0 - search.settings.margin) * (1.0 + 1e-9)
    effort = (1.0 - search.settings.effort_margin) * (1.0 + 1e-9) * limits.effort
    torque = pinocchio_torque(search.model, search.model.parameters.prior, motion)
    return all(
        bool((np.abs(values) <= bound).all()) for values, bound in (
            (motion.q - limits.centre, free * limits.reach), (motion.v, free * limits.velocity),
            (motion.a, free * limits.acceleration), (motion.jerk, free * limits.jerk),
            (torque, effort),
        )
    )


def gradient() -> Iterator[dict[str, object]]:
    """Of cost and barriers, all coefficients, against central differences."""
    search = designer(serial(7))
    search = replace(search, obstacles=obstacles(search))
    worst = 0.0
    for criterion in ('determinant', 'condition', 'eigenvalue'):
        search = replace(search, settings=replace(search.settings, criterion=criterion))
        rest = search.rest()
        coefficients = rest + 0.7 * (search.random_motion(rest, 7) - rest)
        objective = search.objective(60)
        value = partial(objective.value_and_gradient, strength=0.01, near=0.01)
        analytic = value(coefficients)[1]
        step = 1e-5 * np.abs(coefficients).max()
        numeric = np.zeros_like(analytic)
        for index in np.ndindex(*analytic.shape):
            moved = np.zeros_like(coefficients)
            moved[index] = step
            numeric[index] = (
                8.0 * (value(coefficients + moved)[0] - value(coefficients - moved)[0])
                - (value(coefficients + 2.0 * moved)[0] - value(coefficients - 2.0 * moved)[0])
            ) / (12.0 * step)
        error = np.linalg.norm(numeric - analytic) / np.linalg.norm(analytic)
        worst = max(worst, float(error))
    yield {'name': 'gradient against central differences', 'value': worst, 'unit': '',
           'bar': '<= 1e-6', 'ok': worst <= 1e-6}


def growth() -> Iterator[dict[str, object]]:
    """Time of one beginning against joints and harmonics."""
    cases = [(joints, 5) for joints in (3, 5, 7, 9, 12)] + [(7, count) for count in (3, 8, 12)]
    for joints, harmonics in cases:
        search = designer(serial(joints), harmonics, starts=1)
        start = time.perf_counter()
        search.design()
        yield {'name': f'one start, {joints} joints, {harmonics} harmonics',
               'value': time.perf_counter() - start, 'unit': 's', 'ok': True}


if __name__ == '__main__':
    figures = []
    for part in (against_rivals(designer(serial(7))), gradient(), growth(), feasibility()):
        for figure in part:
            figures.append(figure)
            print(figure)
    print(json.dumps(figures))
