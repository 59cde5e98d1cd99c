"""Information: true derivatives, criteria that mean what they say, prior and data that add."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.constraints import JointLimitConstraint, relaxed_barrier
from sysid_ros.excitation.design.information import CRITERIA, Information, criterion_of
from sysid_ros.excitation.design.objective import DesignObjective
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.torque_model import TorqueModel


@pytest.fixture(scope='module')
def information(model: TorqueModel, limits: MotionLimits) -> Information:
    return Information.of(model, limits)


def random_information(size: int, seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(2 * size, size))
    return root.T @ root


@pytest.mark.parametrize('name', CRITERIA)
def test_each_criterion_has_its_own_derivative(name: str) -> None:
    rng = np.random.default_rng(3)
    steps = np.linalg.cholesky(random_information(6, 1))
    information, direction = random_information(6, 2), rng.normal(size=(6, 6))
    direction = direction + direction.T
    criterion, step = criterion_of(name), 1e-6
    _, slope = criterion(information, steps)
    difference = (
        criterion(information + step * direction, steps)[0]
        - criterion(information - step * direction, steps)[0]
    ) / (2.0 * step)
    assert np.sum(slope * direction) == pytest.approx(difference, rel=1e-6)


def test_the_criteria_are_what_their_names_say() -> None:
    root = np.random.default_rng(0).normal(size=(20, 4)) * [1.0, 10.0, 0.1, 3.0]
    information = root.T @ root
    none = np.eye(4)
    assert criterion_of('determinant')(information, none)[0] == pytest.approx(
        -np.linalg.slogdet(information)[1]
    )
    assert criterion_of('eigenvalue')(information, none)[0] == pytest.approx(
        -np.log(np.linalg.eigvalsh(information)[0])
    )
    equal = root / np.linalg.norm(root, axis=0)
    assert criterion_of('condition')(information, none)[0] == pytest.approx(
        np.log(np.linalg.cond(equal))
    )


@pytest.mark.parametrize('name', CRITERIA)
@pytest.mark.parametrize('seed', range(3))
def test_the_gradient_of_the_objective_is_right_to_a_millionth(
    model: TorqueModel, limits: MotionLimits, information: Information, name: str, seed: int
) -> None:
    basis = FourierBasis(5.0)
    objective = DesignObjective(
        information, criterion_of(name), [JointLimitConstraint(limits.within(0.1, 0.3))],
        basis.sample(np.linspace(0.0, 5.0, 60)), 2.0, model.parameters.prior,
    )
    rng = np.random.default_rng(seed)
    x, direction = rng.normal(size=(2, 9, 3))
    _, gradient = objective.value_and_gradient(x, 0.3, 1e-2)
    step = 1e-5
    difference = (
        objective.value_and_gradient(x + step * direction, 0.3, 1e-2)[0]
        - objective.value_and_gradient(x - step * direction, 0.3, 1e-2)[0]
    ) / (2.0 * step)
    size = np.linalg.norm(gradient) * np.linalg.norm(direction)
    assert abs(np.sum(gradient * direction) - difference) <= 1e-6 * size


def test_recordings_at_hand_add_to_what_is_known(
    model: TorqueModel, limits: MotionLimits, information: Information
) -> None:
    rows = np.random.default_rng(0).normal(size=(500, len(model.parameters)))
    more = Information.of(model, limits, data_information=rows.T @ rows)
    gain = np.linalg.eigvalsh(more.known - information.known)
    assert gain[0] > 0.0


def test_the_prior_is_certain_to_a_hundred_percent_of_itself(
    model: TorqueModel, limits: MotionLimits
) -> None:
    one = Information.of(model, limits, prior_weight=1.0)
    np.testing.assert_allclose(
        one.steps.T @ one.known @ one.steps, np.eye(one.base.rank), atol=1e-6
    )


@pytest.mark.parametrize('options', [
    {'noise': np.zeros(3)}, {'noise': np.ones(2)}, {'noise': np.full(3, np.nan)},
    {'prior_weight': 0.0}, {'prior_weight': np.nan},
])
def test_noise_and_prior_that_cannot_be_used_are_refused(
    model: TorqueModel, limits: MotionLimits, options: dict
) -> None:
    with pytest.raises(ConfigurationError):
        Information.of(model, limits, **options)


def test_a_misspelt_criterion_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'determinant'"):
        criterion_of('determinat')


def test_the_barrier_is_smooth_where_it_is_relaxed() -> None:
    near = 1e-2
    slack = np.array([near * (1.0 - 1e-9), near * (1.0 + 1e-9)])
    value, slope = relaxed_barrier(slack, near)
    assert value[0] == pytest.approx(value[1])
    assert slope[0] == pytest.approx(slope[1])
    points = np.linspace(-0.5, 1.0, 40) + 1e-4
    high, low = (relaxed_barrier(points + s, near)[0] for s in (1e-7, -1e-7))
    np.testing.assert_allclose((high - low) / 2e-7, relaxed_barrier(points, near)[1], rtol=1e-4)


def test_effort_limits_that_no_motion_of_these_masses_needs_are_no_measure_of_noise(
    model: TorqueModel, limits: MotionLimits, information: Information
) -> None:
    beyond = replace(limits, effort=np.full(3, 1e6))
    still = replace(limits, effort=np.full(3, 1e8))
    noise = Information.of(model, beyond).noise
    assert (noise < 0.2 * np.abs(model.torque(
        model.parameters.prior, limits.centre[None], np.zeros((1, 3)), np.full((1, 3), 40.0))).max()
    ).all()
    np.testing.assert_array_equal(Information.of(model, still).noise, noise)
    np.testing.assert_allclose(information.noise, 0.01 * limits.effort)
    np.testing.assert_allclose(
        Information.of(model, still).steps, Information.of(model, beyond).steps)
