"""The physically consistent fits of a seven-joint arm, against cvxpy with Clarabel.

Seven bodies with viscous and dry friction and an offset per joint, 91 columns: simulated with
noise, and the KUKA LWR4+ where its recording is at hand. Times are those of the solution once
the rows are compressed and the constraints written down; the whole fit is told beside it. The
reference is the same objective as written in a textbook, each pseudo-inertia one matrix
variable; only its solution counts, not that cvxpy has to translate it first.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import _one_core  # noqa: F401 (pins this process to a core)
import _support  # noqa: F401
import cvxpy as cp
import numpy as np
from _seven_joints import arm

from support import golden_problems as golden
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

PROJECT = Path(__file__).resolve().parents[1]
REPEATS = 5
ONE_THREAD = {f'{name}_NUM_THREADS': '1' for name in ('OPENBLAS', 'OMP', 'MKL', 'RAYON')}
BARS = {'lmi': 8.0, 'entropic': 1.5}
SPEED_UP = 3.0
SAME = 1e-6



def simulated(noise, samples):
    """Noisy rows of a seven-joint arm whose bodies are some 10 % off the prior."""
    model = TorqueModel(arm(), (ViscousFriction(), CoulombFriction(), TorqueOffset()))
    truth = golden.true_parameters(model)
    return golden.Golden(model, truth, samples).problem(noise)


def kuka():
    """Rows of the KUKA LWR4+, with the same terms; None without the recording."""
    named = os.environ.get('SYSID_DATA')
    folder = (Path(named) if named else PROJECT.parent / 'shared' / 'data') / 'kuka_lwr4'
    if not folder.is_dir():
        return None
    run = Identification.load(PROJECT / 'test' / 'reproduction' / 'kuka_run1.yaml', folder)
    robot = RobotSettings.model_validate({'urdf': 'kuka_lwr4.urdf'})
    run = replace(run, settings=run.settings.model_copy(update={'robot': robot}))
    return Measurement.read(FitSetup.of(run)).problem()


class Reference:
    """Both objectives as in a textbook, for cvxpy."""

    def __init__(self, name, strength, directions, allowed):
        weights, known, self.target = directions.principal_rows
        self.matrix, self.allowed = weights[:, None] * known, allowed
        self.name, self.strength = name, strength
        self.definition = golden.Divergence(self.matrix, self.target, allowed)

    def value(self, z):
        """The objective, in squared standard deviations of the torque noise."""
        if self.name == 'entropic':
            return self.definition.value(z, self.strength)
        return 2.0 * self.definition.misfit(z) + self.strength * float(z @ z)

    def program(self):
        """The problem, and its variable."""
        z = cp.Variable(self.matrix.shape[1])
        pseudo, constraints = [], [self.allowed.matrix @ z <= self.allowed.bound]
        for constant, slopes in zip(self.allowed.constant, self.allowed.slopes, strict=True):
            pseudo.append(cp.Variable((4, 4), PSD=True))
            flat = slopes.reshape(len(slopes), 16).T @ z + constant.ravel()
            constraints.append(cp.vec(pseudo[-1], order='C') == flat)
        # Without the scale the solver ends with a mathematical error.
        size = float(np.linalg.norm(self.target))
        misfit = cp.sum_squares((self.matrix @ z - self.target) / size)
        if self.name == 'lmi':
            prior = self.strength / size**2 * cp.sum_squares(z)
            return cp.Problem(cp.Minimize(misfit + prior), constraints), z
        start, flat = self.definition.start, self.definition.flat > 0.0
        first, left = self.allowed.pseudo_inertias(start), self.allowed.slack(start)
        divergence = 0.5 * cp.sum_squares(z[flat] - start[flat])
        for matrix, at_start in zip(pseudo, first, strict=True):
            divergence += cp.trace(np.linalg.inv(at_start) @ matrix) - cp.log_det(matrix)
        slack = self.allowed.bound - self.allowed.matrix @ z
        divergence += cp.sum(cp.multiply(1.0 / left, slack) - cp.log(slack))
        objective = 0.5 * misfit + self.strength / size**2 * divergence
        return cp.Problem(cp.Minimize(objective), constraints), z


def median_time(work):
    """Median in [ms] of a few runs, after one to warm up, and the last result."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = work()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times), result


def compressed(problem):
    """The problem with nothing computed but the compressed rows and the base parameters."""
    fresh = replace(problem)
    fresh.__dict__.update(base=problem.base, factors=problem.factors)
    return fresh


def compare(case, name, problem):
    """Figures of one estimator on one problem."""
    estimator = make_estimator(name)
    fit_time, _ = median_time(lambda: estimator.fit(compressed(problem)))
    weighting_time, (directions, _) = median_time(lambda: weighted_directions(problem))
    set_time, allowed = median_time(lambda: feasible_set(problem, Plausibility()))
    _ = directions.principal_rows
    # A new set each time: what it computes once per problem counts as solving.
    ours, (z, status, iterations) = median_time(
        lambda: estimator.minimise(directions, replace(allowed)))
    reference = Reference(name, estimator.prior_strength, directions, allowed)
    program, variable = reference.program()
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', UserWarning)
        theirs, _ = median_time(lambda: program.solve(solver=cp.CLARABEL))
        program.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-11)
    best = reference.value(variable.value)
    # Negative where the reference stopped short of the minimum.
    excess = reference.value(z) / best - 1.0
    print(
        f'{case}, {name}: {iterations} iterations, {ours:.2f} ms, cvxpy {theirs:.1f} ms '
        f'({program.status}), objective {best:.6g}, off by {excess:.1e}; weighting '
        f'{weighting_time:.1f} ms, constraints {set_time:.2f} ms, whole fit of compressed rows '
        f'{fit_time:.1f} ms'
    )
    solved = status is Status.CONVERGED and iterations > 0
    common = {'reference': f'cvxpy and Clarabel {theirs:.1f} ms', 'ratio': round(theirs / ours, 1)}
    return [
        {'name': f'{name}, {case}', 'value': round(ours, 3), 'unit': 'ms', **common,
         'bar': f'<= {BARS[name]:g} ms, {SPEED_UP:g} times faster',
         'ok': bool(solved and ours <= BARS[name] and theirs >= SPEED_UP * ours)},
        {'name': f'{name}, {case}, objective above the reference', 'value': float(excess),
         'unit': 'relative', 'bar': f'<= {SAME:g}', 'ok': bool(abs(excess) <= SAME)},
    ]


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    cases = {'noise 10 %': simulated(0.1, 1000), 'noise 50 %': simulated(0.5, 300), 'KUKA': kuka()}
    figures = []
    for case, problem in cases.items():
        if problem is None:
            print(f'{case}: no recording; set SYSID_DATA to the folder of the measurements')
            continue
        for name in BARS:
            figures += compare(case, name, problem)
    print(json.dumps(figures))


if __name__ == '__main__':
    if ONE_THREAD.items() <= os.environ.items():
        main()
    else:
        # Libraries read it when they are loaded.
        os.execve(sys.executable, [sys.executable, __file__], {**os.environ, **ONE_THREAD})
