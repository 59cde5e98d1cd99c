"""Families of motions: true derivatives, and at rest at both ends whatever the coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.basis import Basis, ChirpBasis, FourierBasis, QuinticBasis
from sysid_ros.excitation.design.strokes import CruiseBasis, LiftAndDropBasis, TriangleBasis
from sysid_ros.excitation.excitation import Excitation

FAMILIES = [
    FourierBasis(10.0), FourierBasis(3.0, (2, 3, 5, 9)), QuinticBasis(8.0, 5), QuinticBasis(2.0, 2),
    ChirpBasis(10.0), ChirpBasis(4.0, 0.5, 3.0), TriangleBasis(10.0), TriangleBasis(7.0, 0.3, 2.1),
    CruiseBasis(30.0), CruiseBasis(9.0, (3.0, 1.0)), LiftAndDropBasis(20.0),
    LiftAndDropBasis(7.0, 1, 1.0),
]


@pytest.mark.parametrize('basis', FAMILIES, ids=lambda basis: basis.name)
def test_each_order_is_the_derivative_of_the_one_before(basis: Basis) -> None:
    # Not where quintics or ramps meet: there the jerk jumps.
    t = np.linspace(0.0, basis.duration, 61)[1:-1] + 1e-3
    step = 1e-6
    functions = basis.sample(t)
    difference = (basis.sample(t + step) - basis.sample(t - step)) / (2.0 * step)
    size = np.abs(functions).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(
        difference[:-1] / size[1:], functions[1:] / size[1:], atol=1e-6
    )


@pytest.mark.parametrize('basis', FAMILIES, ids=lambda basis: basis.name)
def test_every_motion_begins_and_ends_at_rest(basis: Basis) -> None:
    ends = basis.sample(np.array([0.0, basis.duration]))
    size = np.abs(basis.sample(np.linspace(0.0, basis.duration, 200))).max(axis=(1, 2))
    assert (np.abs(ends[1]) <= 1e-12 * size[1]).all()
    assert (np.abs(ends[2]) <= 1e-12 * size[2]).all()


@pytest.mark.parametrize('basis', FAMILIES, ids=lambda basis: basis.name)
def test_the_pose_does_not_move(basis: Basis) -> None:
    resting = basis.sample(np.linspace(0.0, basis.duration, 50)) @ basis.pose
    np.testing.assert_allclose(resting[0], 1.0, rtol=1e-12)
    assert np.abs(resting[1:]).max() <= 1e-12


@pytest.mark.parametrize('basis', [FAMILIES[0], FAMILIES[1]])
def test_a_fourier_motion_can_be_repeated(basis: Basis) -> None:
    start, end = basis.sample(np.array([0.0, basis.duration])).swapaxes(0, 1)
    np.testing.assert_allclose(start, end, atol=1e-10 * np.abs(start).max())


def test_half_the_speed_is_half_the_velocity_on_the_same_path() -> None:
    rng = np.random.default_rng(0)
    basis = FourierBasis(6.0)
    excitation = Excitation(('a', 'b'), basis, rng.normal(size=(9, 2)))
    fast, slow = excitation.grid(50.0), excitation.at_speed(0.5).grid(25.0)
    np.testing.assert_allclose(slow.q, fast.q, atol=1e-12)
    np.testing.assert_allclose(slow.v, fast.v / 2, atol=1e-12)
    np.testing.assert_allclose(slow.a, fast.a / 4, atol=1e-12)
    np.testing.assert_allclose(slow.jerk, fast.jerk / 8, atol=1e-12)
    assert slow.t[-1] == pytest.approx(12.0)


@pytest.mark.parametrize('make', [
    lambda: FourierBasis(0.0), lambda: FourierBasis(np.nan), lambda: FourierBasis(1.0, (1, 2)),
    lambda: FourierBasis(1.0, (1, 2, 2)), lambda: FourierBasis(1.0, (1.5, 2, 3)),
    lambda: FourierBasis(1.0, (0, 1, 2)),
    lambda: QuinticBasis(1.0, 1), lambda: ChirpBasis(1.0, 2.0, 1.0),
    lambda: Excitation(('a',), FourierBasis(1.0), np.zeros((3, 1))),
    lambda: Excitation(('a',), FourierBasis(1.0), np.full((9, 1), np.nan)),
    lambda: Excitation(('a',), FourierBasis(1.0), np.zeros((9, 1)), speed=0.0),
    lambda: Excitation(('a',), FourierBasis(1.0), np.zeros((9, 1))).sample(np.array([1.5])),
])
def test_what_cannot_be_played_is_refused(make) -> None:
    with pytest.raises(ConfigurationError):
        make()
