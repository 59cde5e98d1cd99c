"""Table II of Cho, Lee and Shin 2023 on run 1 of the KUKA LWR4+: `pytest -s` prints it.

The paper's own recordings are not to be had. Its rows are: whether all bodies are real at the
end, whether the mass matrix was positive definite at every sample, the distance to the batch
estimate, and the torque error of each estimate at its own sample and of the last at all samples.
Samples weigh as in the paper: by the same noise, whatever their number, so that rates compare.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.recursive.recursion import Recursion
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

HERE = Path(__file__).parent
RATE = 200
RATES = (1, 10, 100, 200)
METHODS = ('RLS-l2', 'RLS-ldetdiv')
ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Kuka:
    """Run 1 as recorded, at 200 Hz, and what it is compared with."""

    folder: Path

    @cached_property
    def problem(self) -> RegressionProblem:
        """All samples, with viscous and dry friction and an offset per joint."""
        run = Identification.load(HERE / 'kuka_run1.yaml', self.folder)
        terms = ViscousFriction(), CoulombFriction(), TorqueOffset()
        model = TorqueModel(run.model().robot, terms)
        return RegressionProblem.from_dataset(
            model, FitSetup(run, model).align(run.recording()))

    @cached_property
    def noise(self) -> np.ndarray:
        """Noise per joint that makes correlated samples count as independent ones."""
        return weighted_directions(self.problem)[0].sigma

    @cached_property
    def batch(self) -> np.ndarray:
        """The batch estimate from all samples."""
        estimate = make_estimator('entropic', prior_strength=ALPHA).fit(self.problem)
        assert estimate.status.ok
        return estimate.parameters.values

    def motion(self, rate: int) -> tuple[np.ndarray, ...]:
        """Motion and torque at a lower rate."""
        data = self.problem.motion.dataset
        return tuple(x[::RATE // rate] for x in (data.q, data.v, data.a, data.tau))

    @cached_property
    def weight_of_l2(self) -> float:
        """Strength with which the batch l2 fit has the torque error of the log-det one."""
        rows = self.problem.regressor
        weighted = (rows / self.noise[:, None]).reshape(-1, rows.shape[2])
        target = (self.problem.torque / self.noise).ravel()
        matrix, vector = weighted.T @ weighted, weighted.T @ target
        bound = np.where(np.arange(rows.shape[2]) < 70, 1.0, 1e-3)
        wanted = rms(rows @ self.batch - self.problem.torque)
        low, high = 1e-6, 1e6
        for _ in range(60):
            middle = np.sqrt(low * high)
            theta = np.linalg.solve(
                matrix + middle * np.diag(bound),
                vector + middle * bound * self.problem.parameters.prior)
            worse = rms(rows @ theta - self.problem.torque) > wanted
            low, high = (low, middle) if worse else (middle, high)
        return float(low)

    def started(self, method: str, rate: int) -> Recursion:
        """A recursion for samples at a rate, one Newton iteration each."""
        l2 = method == 'RLS-l2'
        settings = RecursiveLeastSquares(
            regulariser='l2' if l2 else 'plausible', max_iterations=1,
            prior_strength=self.weight_of_l2 if l2 else ALPHA)
        return settings.start(self.problem, self.noise * np.sqrt(rate / RATE))

    @cache  # noqa: B019 (one recording only)
    def row(self, method: str, rate: int) -> dict[str, float]:
        """What a column of the table says."""
        q, v, a, tau = self.motion(rate)
        state = self.started(method, rate)
        trace = state.extend(q, v, a, tau, trace=True)
        margins = np.array(list(state.margins(trace).values()))
        rows = self.problem.regressor[::RATE // rate]
        return {
            'all bodies real at the end': float((margins[:, -1] > 0.0).all()),
            'at every sample': float((margins > 0.0).all()),
            'mass matrix positive at every sample': float(
                (least_eigenvalues(self.problem.model.robot, q, trace) > 0.0).all()),
            'distance to batch': float(np.linalg.norm(trace[-1] - self.batch)),
            'torque error at each sample': rms(np.einsum('tjp,tp->tj', rows, trace) - tau),
            'torque error of the last': rms(rows @ trace[-1] - tau),
        }


def rms(torque: np.ndarray) -> float:
    """Root mean square of torques over samples by eq. (31), in [N·m]."""
    return float(np.sqrt(np.mean(np.sum(torque**2, axis=1))))


def least_eigenvalues(robot: RobotModel, q: np.ndarray, trace: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of the mass matrix at each sample, with the estimate there, ``(T,)``."""
    still, joints = np.zeros_like(q), q.shape[1]
    weightless = replace(robot, gravity=np.zeros(3))
    matrix = np.stack([
        np.einsum('tjp,tp->tj', inertial_regressor(
            weightless, q, still, np.broadcast_to(unit, q.shape)), trace[:, :10 * joints])
        for unit in np.eye(joints)
    ], axis=2)
    return np.linalg.eigvalsh(0.5 * (matrix + matrix.transpose(0, 2, 1)))[:, 0]


@pytest.fixture(scope='module')
def kuka(shared_data):
    return Kuka(shared_data / 'kuka_lwr4')


def test_the_table(kuka, record_property):
    print(f'\nKUKA LWR4+, run 1{"":36s}' + ''.join(f'{rate:>8d} Hz' for rate in RATES))
    for name in kuka.row(METHODS[0], RATES[0]):
        for method in METHODS:
            values = [kuka.row(method, rate)[name] for rate in RATES]
            print(f'{name:38s} {method:14s}' + ''.join(f'{value:11.4g}' for value in values))
            record_property(f'{name}, {method}', values)
    errors = [kuka.row(method, RATE)['torque error of the last'] for method in METHODS]
    assert errors[0] == pytest.approx(errors[1], abs=0.01)


@pytest.mark.parametrize('rate', RATES)
def test_every_estimate_is_physical_at_every_sample(kuka, rate):
    row = kuka.row('RLS-ldetdiv', rate)
    assert row['at every sample'] == 1.0
    assert row['mass matrix positive at every sample'] == 1.0


@pytest.mark.parametrize('rate', RATES)
def test_plain_least_squares_is_not(kuka, rate):
    assert kuka.row('RLS-l2', rate)['all bodies real at the end'] == 0.0
    assert kuka.row('RLS-l2', rate)['at every sample'] == 0.0


def test_the_distance_to_the_batch_estimate_falls_with_the_rate(kuka):
    distances = [kuka.row('RLS-ldetdiv', rate)['distance to batch'] for rate in RATES]
    assert (np.diff(distances) < 0.0).all()
    # Both stop where a step gains nothing that double precision shows, in flat directions.
    assert distances[-1] <= 2e-6 * np.linalg.norm(kuka.batch)


@pytest.mark.parametrize('chunk', [1, 7, 64, 1000])
def test_after_the_last_sample_it_is_the_batch_estimate_with_any_chunking(kuka, chunk):
    q, v, a, tau = kuka.motion(RATE)
    state = kuka.started('RLS-ldetdiv', RATE)
    for start in range(0, len(q), chunk):
        part = slice(start, start + chunk)
        state.extend(q[part], v[part], a[part], tau[part])
    assert state.iterations == state.samples == len(q)
    distance = np.linalg.norm(state.theta - kuka.batch) / np.linalg.norm(kuka.batch)
    assert distance <= 2e-6
    whole = kuka.started('RLS-ldetdiv', RATE)
    whole.extend(q, v, a, tau)
    assert whole.to_bytes() == state.to_bytes()
