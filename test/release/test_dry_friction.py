"""Values by which dry friction makes the motion of an estimate, and what is said of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.friction_law_error import DRY_FRICTION
from sysid_ros.release.dry_friction import dry_friction_parameters
from sysid_ros.robot.parameters import Parameter, ParameterSet


def estimate(dry):
    """An estimate of three parameters, the first of them next to zero and hardly known."""
    parameters = ParameterSet.of([
        Parameter('hip.torque_offset', 'N·m', prior=1e-4),
        Parameter('hip.viscous_friction', 'N·m·s/rad', prior=0.2),
        Parameter('hip.armature', 'kg·m²', prior=0.01)])
    return SimpleNamespace(
        parameters=parameters, standard_deviation=np.array([2e-3, 0.004, np.inf]),
        provenance={} if dry is None else {DRY_FRICTION: dry})


def test_the_value_that_changes_most_for_what_is_known_of_it_is_said():
    found, notes = dry_friction_parameters(estimate({
        'hip.torque_offset': -5e-4, 'hip.viscous_friction': 0.22, 'hip.armature': 0.02}))
    np.testing.assert_array_equal(found.values, [-5e-4, 0.22, 0.02])
    note, = notes
    assert 'most of all hip.viscous_friction, 0.22 N·m·s/rad in place of 0.2.' in note


def test_a_change_that_is_not_seen_in_three_digits_is_not_the_one_that_is_said():
    # Half a percent, and more deviations than the change of the other.
    _, (note,) = dry_friction_parameters(estimate({
        'hip.viscous_friction': 0.2009, 'hip.torque_offset': 4e-4}))
    assert 'most of all hip.torque_offset, 0.0004 N·m in place of 0.0001.' in note


@pytest.mark.parametrize('dry', [
    None, {}, {'hip.viscous_friction': 0.20001}, {'knee.viscous_friction': 0.3},
    {'hip.viscous_friction': 'much'}])
def test_nothing_is_said_where_nothing_worth_a_word_changes_or_it_cannot_be_read(dry):
    found, notes = dry_friction_parameters(estimate(dry))
    np.testing.assert_allclose(found.values, [1e-4, 0.2, 0.01], rtol=1e-3)
    assert notes == ()
