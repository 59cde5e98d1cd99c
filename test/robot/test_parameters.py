"""Parameter sets: names, vectors, bounds, and that none of it can be changed in place."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.parameters import Parameter, ParameterSet, inertial_parameter_list

PRIOR = np.array([2.0, 0.1, 0.2, 0.3, 1.0, 0.01, 1.1, 0.02, 0.03, 1.2])


@pytest.fixture
def parameters():
    return ParameterSet.of([
        *inertial_parameter_list('upper', PRIOR),
        *inertial_parameter_list('lower', 2.0 * PRIOR),
        Parameter('elbow.viscous_friction', 'N·m·s/rad', prior=0.5, lower=0.0),
        Parameter('elbow.torque_offset', 'N·m', lower=-3.0, upper=3.0, free=False),
    ])


def test_a_set_starts_at_its_prior_with_names_and_units_in_order(parameters):
    assert len(parameters) == 22
    assert parameters.names[0] == 'upper.mass'
    assert parameters.names[10:20] == tuple(f'lower.{field}' for field in INERTIAL_FIELDS)
    assert parameters.units[:5] == ('kg', 'kg·m', 'kg·m', 'kg·m', 'kg·m²')
    assert parameters.units[-2:] == ('N·m·s/rad', 'N·m')
    np.testing.assert_array_equal(parameters.values, parameters.prior)
    assert parameters['lower.inertia_yz'] == 2.0 * 0.03
    assert 'elbow.torque_offset' in parameters
    assert 'elbow.armature' not in parameters


def test_only_the_mass_of_the_inertial_parameters_is_bounded(parameters):
    assert parameters.lower[0] == 0.0
    assert np.isneginf(parameters.lower[1:10]).all()
    assert np.isposinf(parameters.upper[:10]).all()
    assert parameters.free[:21].all()
    assert not parameters.free[21]


def test_a_set_takes_from_another_what_both_have(parameters):
    known = ParameterSet.of([
        Parameter('wrist.armature', 'kg·m²', prior=0.1),
        Parameter('elbow.torque_offset', 'N·m', prior=1.0, lower=-2.0, upper=2.0),
    ]).with_values([0.2, 1.5])
    updated = parameters.updated(known)
    assert updated.names == parameters.names
    assert updated['elbow.torque_offset'] == 1.5
    last = [array[-1] for array in (updated.prior, updated.lower, updated.upper, updated.free)]
    assert last == [1.0, -2.0, 2.0, True]
    np.testing.assert_array_equal(updated.values[:-1], parameters.values[:-1])
    assert not parameters.free[-1]


def test_bodies_and_their_slices_are_found_by_name(parameters):
    assert parameters.bodies == ('upper', 'lower')
    assert parameters.body_slice('lower') == slice(10, 20)
    np.testing.assert_array_equal(parameters.inertial('lower'), 2.0 * PRIOR)


def test_an_inertial_that_is_taken_out_is_a_copy(parameters):
    parameters.inertial('upper')[0] = 99.0
    assert parameters['upper.mass'] == 2.0


def test_values_are_replaced_by_vector_or_by_name_and_the_prior_stays(parameters):
    doubled = parameters.with_values(2.0 * parameters.values)
    named = parameters.with_values({'upper.mass': 3, 'elbow.torque_offset': -0.5})
    assert doubled['upper.mass'] == 4.0
    assert named['upper.mass'] == 3.0
    assert named['elbow.torque_offset'] == -0.5
    assert named['lower.mass'] == parameters['lower.mass']
    for other in (doubled, named):
        np.testing.assert_array_equal(other.prior, parameters.prior)
    assert parameters['upper.mass'] == 2.0


def test_nothing_in_a_set_can_be_changed_in_place(parameters):
    for field in ('values', 'prior', 'lower', 'upper', 'free'):
        with pytest.raises(ValueError, match='read-only'):
            getattr(parameters, field)[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        parameters.names = ()


def test_a_set_does_not_follow_the_array_it_was_made_from(parameters):
    values = parameters.values.copy()
    changed = parameters.with_values(values)
    values[0] = 77.0
    assert changed['upper.mass'] == 2.0


def test_patterns_fix_parameters_and_add_up(parameters):
    fixed = parameters.fixed('upper.*', '*.viscous_friction')
    assert not fixed.free[:10].any()
    assert fixed.free[10:20].all()
    assert not fixed.free[20:].any()
    assert fixed.fixed('lower.inertia_?z').free.sum() == 7
    assert parameters.fixed().free.sum() == parameters.free.sum()


def test_brackets_in_a_name_stand_for_themselves():
    parameters = ParameterSet.of([Parameter('arm[1].armature', ''), Parameter('arm1.armature', '')])
    assert parameters.fixed('arm[1].*').free.tolist() == [False, True]


def test_a_pattern_that_matches_nothing_is_refused_with_the_nearest_name(parameters):
    with pytest.raises(ParameterError, match=r"'elbow.viscos'.*Did you mean 'elbow.viscous_fric"):
        parameters.fixed('elbow.viscos')


def test_an_unknown_name_is_refused_with_the_nearest_one(parameters):
    with pytest.raises(ParameterError, match="found 'uper.mass'.*Did you mean 'upper.mass'"):
        parameters['uper.mass']
    with pytest.raises(ParameterError, match='elbow.torque_ofset'):
        parameters.with_values({'elbow.torque_ofset': 0.0})
    with pytest.raises(ParameterError, match='forearm.mass'):
        parameters.body_slice('forearm')


def test_vectors_of_another_length_are_refused(parameters):
    with pytest.raises(ParameterError, match=r'values has the wrong length \(found \(21,\); .*22'):
        parameters.with_values(np.zeros(21))
    with pytest.raises(ParameterError, match='units has the wrong length'):
        dataclasses.replace(parameters, units=('kg',))


def test_values_that_are_not_numbers_are_refused(parameters):
    with pytest.raises(ParameterError, match='values are not numbers'):
        parameters.with_values({'upper.mass': 'heavy'})


def test_names_that_occur_twice_are_refused():
    with pytest.raises(ParameterError, match=r'not unique \(found a.mass\)'):
        ParameterSet.of([Parameter('a.mass', 'kg'), Parameter('a.mass', 'kg')])


@pytest.mark.parametrize(('lower', 'upper'), [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan)])
def test_bounds_that_leave_nothing_are_refused(lower, upper):
    with pytest.raises(ParameterError, match='a.mass: the lower bound is not below the upper'):
        ParameterSet.of([Parameter('a.mass', 'kg', lower=lower, upper=upper)])


def test_a_set_survives_json_exactly(parameters):
    changed = parameters.with_values(parameters.values / 3.0).fixed('upper.*')
    text = json.dumps(changed.to_json(), allow_nan=False)
    back = ParameterSet.from_json(json.loads(text))
    assert back.names == changed.names
    assert back.units == changed.units
    for field in ('values', 'prior', 'lower', 'upper', 'free'):
        np.testing.assert_array_equal(getattr(back, field), getattr(changed, field))


@pytest.mark.parametrize('damage', [
    lambda data: data.pop('prior'),
    lambda data: data['values'].pop(),
    lambda data: data['units'].pop(),
    lambda data: data.update(values=None),
    lambda data: data.update(lower='none'),
    lambda data: data['values'].__setitem__(0, 'heavy'),
    lambda data: data['values'].__setitem__(0, float('nan')),
])
def test_json_that_holds_no_parameters_is_refused(parameters, damage):
    data = parameters.to_json()
    damage(data)
    with pytest.raises(ParameterError):
        ParameterSet.from_json(data)


NUMBERS = st.floats(allow_nan=False) | st.sampled_from([np.nan, np.inf, -np.inf])


@given(st.lists(
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.booleans()), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_set_has_finite_values_and_bounds_in_order_or_is_refused_by_name(rows):
    values, prior, lower, upper, free = (np.array(column) for column in zip(*rows, strict=True))
    names = tuple(f'joint{k}.armature' for k in range(len(rows)))
    arguments = (names, ('kg·m²',) * len(rows), values, prior, lower, upper, free)
    wrong = {
        name for name, value, first, low, high in zip(
            names, values, prior, lower, upper, strict=True)
        if not (np.isfinite(value) and np.isfinite(first) and low <= high
                and low < np.inf and high > -np.inf)}
    if wrong:
        with pytest.raises(ParameterError) as refused:
            ParameterSet(*arguments)
        assert refused.value.where in wrong
        return
    made = ParameterSet(*arguments)
    again = ParameterSet.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)))
    for field in ('values', 'prior', 'lower', 'upper', 'free'):
        np.testing.assert_array_equal(getattr(again, field), getattr(made, field))
