"""Designs: allowed everywhere, better than chance, reproducible, and honest when impossible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.design.basis import Basis, ChirpBasis, FourierBasis, QuinticBasis
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.torque_model import TorqueModel

QUICK = DesignSettings(starts=2, iterations=30)


def designer(
    model: TorqueModel, limits: MotionLimits, basis: Basis, settings: DesignSettings = QUICK
) -> Designer:
    return Designer(model, Information.of(model, limits), limits, basis, settings)


@pytest.mark.parametrize('basis', [FourierBasis(6.0), QuinticBasis(6.0), ChirpBasis(6.0)],
                         ids=lambda basis: basis.name)
@pytest.mark.parametrize('criterion', ['determinant', 'condition', 'eigenvalue'])
def test_a_design_keeps_every_limit_with_its_margin(
    model: TorqueModel, limits: MotionLimits, basis: Basis, criterion: str
) -> None:
    settings = replace(QUICK, starts=1, criterion=criterion, margin=0.1, effort_margin=0.3)
    motion = designer(model, limits, basis, settings).design().grid(1000.0)
    torque = model.torque(model.parameters.prior, motion.q, motion.v, motion.a)
    tiny = 1.0 + 1e-9
    assert (np.abs(motion.v) <= 0.9 * tiny * limits.velocity).all()
    assert (np.abs(motion.a) <= 0.9 * tiny * limits.acceleration).all()
    assert (np.abs(motion.jerk) <= 0.9 * tiny * limits.jerk).all()
    assert (np.abs(torque) <= 0.7 * tiny * limits.effort).all()
    assert (np.abs(motion.q - limits.centre) <= 0.9 * tiny * limits.reach).all()


def test_a_design_tells_more_than_random_motions(
    model: TorqueModel, limits: MotionLimits
) -> None:
    search = designer(model, limits, FourierBasis(6.0), replace(QUICK, iterations=80))
    best = search.design().design['cost']
    rest = search.rest()
    rivals = [search.cost(search.random_motion(rest, seed)) for seed in range(50)]
    assert best < min(rivals)


def test_a_seed_gives_the_same_design_again(model: TorqueModel, limits: MotionLimits) -> None:
    first, again = (designer(model, limits, FourierBasis(6.0)).design() for _ in range(2))
    np.testing.assert_array_equal(first.coefficients, again.coefficients)


def test_a_motion_of_another_robot_tells_nothing(
    model: TorqueModel, limits: MotionLimits
) -> None:
    search = designer(model, limits, FourierBasis(6.0))
    foreign = Excitation(('a', 'b', 'c'), search.basis, search.rest())
    with pytest.raises(ExcitationError, match='another robot'):
        search.after(foreign)


def test_the_search_tells_of_every_beginning(model: TorqueModel, limits: MotionLimits) -> None:
    told = []
    designer(model, limits, FourierBasis(6.0)).design(lambda *news: told.append(news))
    assert [news[0] for news in told] == [0, 1]
    assert told[-1][2] == min(news[1] for news in told)


def test_torque_that_cannot_hold_the_arm_is_named(
    model: TorqueModel, limits: MotionLimits
) -> None:
    weak = replace(limits, effort=np.array([100.0, 0.1, 100.0]))
    with pytest.raises(ExcitationError, match='effort of elbow'):
        designer(model, replace(weak, lower=np.array([-3.0, -0.4, -3.0]),
                                upper=np.array([3.0, 0.4, 3.0])), FourierBasis(6.0)).design()


def test_a_design_knows_what_the_last_one_told(
    model: TorqueModel, limits: MotionLimits
) -> None:
    search = designer(model, limits, FourierBasis(6.0), replace(QUICK, iterations=80))
    first = search.design()
    after = search.after(first)
    both = after.cost(after.design().coefficients)
    rest = after.rest()
    assert both < min(after.cost(after.random_motion(rest, seed)) for seed in range(50))
    # Two motions tell more than one, and what one tells counts as if it were played again.
    assert both < first.design['cost']
    assert after.cost(first.coefficients) == pytest.approx(
        first.design['cost'] - search.information.base.rank * np.log(2.0), abs=0.5)


def test_much_that_is_known_draws_no_design_to_rest(
    model: TorqueModel, limits: MotionLimits
) -> None:
    search = designer(model, limits, FourierBasis(6.0))
    first = search.design()
    known = 30.0 * search.after(first).information.known
    late = replace(search, information=replace(search.information, known=known))
    after = late.design()
    # A motion near rest gains hardly anything; the first one, played again, is no bad one.
    gain = late.cost(late.rest()) - late.cost(first.coefficients)
    assert late.cost(late.rest()) - after.design['cost'] > 0.8 * gain
