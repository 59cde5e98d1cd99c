"""Regression estimators on problems that no robot should be, and some are.

Trees of up to thirty joints with branches, slides and masses over ten decades; joints that stand
still, move by next to nothing or as another one does; few rows, no noise or nothing else. Whatever
comes of it: an estimate that is shown as converged is finite and, where the estimator promises it,
one that physics allows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from support.robot_factory import random_urdf
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility

CONSISTENT = ('lmi', 'irls_lmi', 'entropic', 'log_cholesky', 'recursive')
# Problems of an estimator in a usual run; joints of the largest robots, and of those of a usual
# run.
DRAWN, MOST, USUAL = 3, 30, 8


def joints_of(rng, most):
    """As many robots of one to three joints as of ten to thirty."""
    return max(1, round(math.exp(rng.uniform(0.0, math.log(most)))))


def adversary(rng, most):
    """A problem, and what it is like."""
    joints = joints_of(rng, most)
    decades = float(rng.choice([0.0, 4.0, 10.0]))
    golden = simulated.golden_of(
        random_urdf(int(rng.integers(1 << 30)), joints, fixed_fraction=0.1, mass_decades=decades),
        armature=bool(rng.random() < 0.5))
    samples = int(rng.choice([5, 100, 300], p=[0.1, 0.3, 0.6]))
    data = golden.dataset(seed=int(rng.integers(1 << 30)), samples=samples)
    q, v, a = data.q.copy(), data.v.copy(), data.a.copy()
    size = 10.0 ** (rng.uniform(-9.0, 0.0) * (rng.random(q.shape[1]) < 0.2))
    size[rng.random(q.shape[1]) < 0.1] = 0.0
    q, v, a = q[0] + size * (q - q[0]), size * v, size * a
    for joint in np.flatnonzero(rng.random(q.shape[1]) < 0.1):
        other = int(rng.integers(q.shape[1]))
        # Nearly, or to the last bit.
        near = 1.0 + float(rng.choice([0.0, 1e-9, 1e-4]))
        q[:, joint], v[:, joint], a[:, joint] = near * q[:, other], near * v[:, other], (
            near * a[:, other])
    tau = golden.model.torque(golden.truth, q, v, a)
    noise = float(rng.choice([0.0, 1e-12, 1e-2, 10.0]))
    tau += noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    kind = str(rng.choice(['torque', 'noise alone', 'nothing'], p=[0.8, 0.1, 0.1]))
    tau = {'torque': tau, 'noise alone': rng.normal(size=tau.shape),
           'nothing': np.zeros_like(tau)}[kind]
    data = replace(data, q=q, v=v, a=a, tau=tau)
    words = f'{joints} joints, {decades:g} decades, {samples} rows, noise {noise:g}, {kind}'
    return RegressionProblem.from_dataset(golden.model, data), words


def require_sound(name, estimate):
    """That an estimate is what it says it is."""
    assert Estimate.from_json(estimate.to_json()).to_json() == estimate.to_json()
    parameters = estimate.parameters
    assert np.isfinite(parameters.values).all()
    assert not np.isnan(estimate.standard_deviation).any()
    assert not np.isnan(estimate.base_standard_deviation()).any()
    known = np.array([entry is Knowledge.DATA for entry in estimate.knowledge])
    fixed = np.array([entry is Knowledge.FIXED for entry in estimate.knowledge])
    told = np.isfinite(estimate.standard_deviation)
    if not estimate.status.ok:
        np.testing.assert_array_equal(told, fixed)
        return
    np.testing.assert_array_equal(told, known | fixed)
    if name in CONSISTENT:
        assert estimate.consistent
        assert min(estimate.margins.values()) >= Plausibility().margin * (1.0 - 1e-3)
        room = 1e-9 * np.maximum(np.abs(parameters.values), 1.0)
        assert (parameters.values >= parameters.lower - room).all()
        assert (parameters.values <= parameters.upper + room).all()


@pytest.mark.parametrize('name', tuple(REGRESSION_ESTIMATORS))
def test_what_is_shown_as_converged_is_finite_and_allowed(name, draws):
    converged = refused = 0
    for number, rng in draws.numbered(DRAWN):
        problem, words = adversary(rng, MOST if draws.times > 1 else USUAL)
        with draws.saved_on_failure(
                number, regressor=problem.regressor, torque=problem.torque,
                usable=problem.usable, prior=problem.parameters.prior, words=words):
            try:
                estimate = make_estimator(name).fit(problem)
            except EstimationError:
                refused += 1
                continue
            require_sound(name, estimate)
            converged += estimate.status.ok
    print(f'\n{name}: {converged} converged, {refused} refused')
