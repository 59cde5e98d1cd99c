"""What observations, segments and trajectory problems accept, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from support import golden_problems as golden
from sysid_ros.errors import EstimationError, ModelError, RecordingError
from sysid_ros.estimation.trajectory.inertial_sensors import (
    Accelerometer,
    Gyroscope,
    LoadCell,
    Mounting,
)
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

ROBOT = RobotModel.from_urdf(golden.arm_urdf())
MODEL = TorqueModel(ROBOT, [ViscousFriction()])
ENCODER = Encoder.of(ROBOT.joint_names)
NODES = np.arange(101) / 100.0

FINITE = st.floats(-1e3, 1e3)
STEPS = arrays(float, st.integers(0, 20), elements=st.floats(1e-4, 1.0))


def observation(sensor=ENCODER, samples=101, **changes):
    given_ = {
        't': np.linspace(0.0, 1.0, samples), 'values': np.zeros((samples, sensor.width)),
        'sigma': np.full(sensor.width, 1e-3)}
    return Observation(sensor, **{**given_, **changes})


def segment(*observations, **changes):
    return Segment(**{
        't': NODES, 'torque': np.zeros((101, 3)), 'observations': observations, **changes})


@given(steps=STEPS, data=st.data())
def test_an_observation_takes_any_numbers_at_increasing_stamps(steps, data):
    t = np.cumsum(steps)
    values = data.draw(arrays(float, (len(t), 3), elements=FINITE | st.just(np.nan)))
    sigma = data.draw(arrays(float, 3, elements=st.floats(1e-9, 1e3)))
    found = Observation(ENCODER, t, values, sigma)
    np.testing.assert_array_equal(found.values, values)


@given(steps=STEPS.filter(len), where=st.integers(0, 19), back=st.floats(0.0, 2.0))
def test_stamps_that_stand_still_or_go_back_are_refused(steps, where, back):
    t = np.concatenate([[0.0], np.cumsum(steps)])
    t[1 + where % len(steps)] = t[where % len(steps)] - back
    with pytest.raises(RecordingError, match='encoder of waist.*stamps of a sensor do not incr'):
        observation(t=t, values=np.zeros((len(t), 3)))


@given(bad=st.sampled_from([np.nan, np.inf, -np.inf]), where=st.integers(0, 100))
def test_a_stamp_that_is_no_number_is_refused(bad, where):
    t = np.linspace(0.0, 1.0, 101)
    t[where] = bad
    # Differences of infinities, were they formed, would warn, which is an error here.
    with pytest.raises(RecordingError, match='do not increase'):
        observation(t=t)


@given(shape=st.tuples(st.integers(0, 5), st.integers(0, 5)), noise=st.integers(0, 5))
def test_arrays_that_do_not_belong_together_are_refused(shape, noise):
    t = np.arange(3.0)
    if shape == (3, 3) and noise == 3:
        assert Observation(ENCODER, t, np.zeros(shape), np.ones(noise))
        return
    with pytest.raises(RecordingError, match='do not belong together'):
        Observation(ENCODER, t, np.zeros(shape), np.ones(noise))


def test_stamps_are_one_list():
    with pytest.raises(RecordingError, match='do not belong together'):
        observation(t=np.zeros((101, 1)))


@given(bad=st.sampled_from([np.inf, -np.inf]), row=st.integers(0, 100), column=st.integers(0, 2))
def test_infinity_is_refused_anywhere(bad, row, column):
    values = np.zeros((101, 3))
    values[row, column] = bad
    with pytest.raises(RecordingError, match='measured infinity.*NaN where missing'):
        observation(values=values)


@given(bad=st.sampled_from([0.0, -1e-3, np.nan, np.inf]), column=st.integers(0, 2))
def test_noise_that_is_not_above_zero_is_refused(bad, column):
    sigma = np.full(3, 1e-3)
    sigma[column] = bad
    with pytest.raises(RecordingError, match='noise of a sensor is not above zero'):
        observation(sigma=sigma)


@given(start=st.floats(-1e4, 1e4), step=st.floats(1e-3, 10.0), count=st.integers(2, 300))
def test_a_stretch_takes_even_nodes_wherever_they_begin(start, step, count):
    nodes = start + step * np.arange(count)
    found = Segment(nodes, np.zeros((count, 3)), ())
    assert found.step == pytest.approx(step, rel=1e-6)


@given(where=st.integers(1, 99), off=st.floats(1e-4, 0.5) | st.floats(-0.5, -1e-4))
def test_uneven_nodes_are_refused(where, off):
    nodes = NODES.copy()
    nodes[where] += off * 0.01
    with pytest.raises(RecordingError, match='not evenly spaced.*101 nodes, steps of'):
        segment(t=nodes)


@pytest.mark.parametrize('nodes', [
    np.zeros(0), np.zeros(1), np.zeros(5), -np.arange(5.0), np.array([0.0, np.nan, 2.0]),
    np.array([0.0, 1.0, np.inf]), np.zeros((5, 1)),
])
def test_nodes_that_are_no_times_are_refused(nodes):
    with pytest.raises(RecordingError, match='not evenly spaced.*above zero'):
        segment(t=nodes, torque=np.zeros((len(nodes), 3)))


@given(bad=st.sampled_from([np.nan, np.inf]), row=st.integers(0, 100), column=st.integers(0, 2))
def test_a_torque_that_is_not_known_is_refused(bad, row, column):
    torque = np.zeros((101, 3))
    torque[row, column] = bad
    with pytest.raises(RecordingError, match=r'not known at all its nodes \(found 100 of 101\)'):
        segment(torque=torque)


@pytest.mark.parametrize('shape', [(100, 3), (102, 3), (101,), (0, 3), (101, 3, 1)])
def test_torques_of_other_nodes_are_refused(shape):
    with pytest.raises(RecordingError, match=r'do not belong to its nodes.*allowed \(101, joints'):
        segment(torque=np.zeros(shape))


@pytest.mark.parametrize('start', [
    np.zeros((2, 2)), np.zeros(3), np.full((2, 3), np.nan), np.zeros((3, 2))])
def test_a_start_that_is_no_state_is_refused(start):
    with pytest.raises(RecordingError, match='start of a stretch is not a position and a veloc'):
        segment(start=start)


@given(early=st.integers(0, 5), late=st.integers(0, 5))
def test_samples_outside_of_their_stretch_are_counted(early, late):
    t = np.arange(-early, 101 + late) / 100.0
    seen = observation(t=t, values=np.zeros((len(t), 3)))
    if not early + late:
        assert segment(seen).observations == (seen,)
        return
    with pytest.raises(RecordingError, match=f'encoder of waist.*found {early + late} samples'):
        segment(seen)


def problem(*segments, model=MODEL, parameters=None):
    return TrajectoryProblem(model, parameters or model.parameters, segments)


def test_free_parameters_are_those_that_the_mask_leaves():
    found = problem(segment(observation()), parameters=MODEL.parameters.fixed('*.inertia_*'))
    names = [MODEL.parameters.names[k] for k in found.free]
    assert len(names) == len(MODEL.parameters) - 18
    assert not any('.inertia_' in name for name in names)


@settings(max_examples=30, deadline=None)
@given(samples=st.integers(2, 60), lost=st.integers(0, 30), count=st.integers(1, 3))
def test_as_many_values_as_unknowns_are_too_few(samples, lost, count):
    values = np.zeros((samples, 3))
    values.flat[:lost] = np.nan
    part = segment(observation(samples=samples, values=values))
    known = count * int(np.isfinite(values).sum())
    unknown = len(MODEL.parameters) + count * 6
    if known > unknown:
        assert problem(*[part] * count)
        return
    with pytest.raises(EstimationError, match=f'found {known} measured values; .*than {unknown}'):
        problem(*[part] * count)


def test_no_motion_at_all_is_refused():
    with pytest.raises(EstimationError, match='found 0 measured values'):
        problem()


def test_parameters_of_another_model_are_refused():
    with pytest.raises(EstimationError, match='not those of the model'):
        problem(segment(observation()), parameters=TorqueModel(ROBOT).parameters)


def test_torques_of_another_robot_are_refused():
    with pytest.raises(RecordingError, match=r'do not fit the robot \(found 4 joints; allowed 3'):
        problem(segment(observation(), torque=np.zeros((101, 4))))


@pytest.mark.parametrize(('terms', 'match'), [
    ([CoulombFriction()], 'jumps where the velocity'),
    ([LoadFriction()], 'LoadFriction with coulomb_smoothing 0'),
])
def test_models_whose_torque_jumps_are_refused_where_accelerations_are_needed(terms, match):
    with pytest.raises(ModelError, match=match):
        problem(segment(observation()), model=TorqueModel(ROBOT, terms)).require_smooth()


@pytest.mark.parametrize('sensor', [
    Encoder.of(['wirst']), Tachometer.of(['wirst']), LoadCell('wirst'),
    Gyroscope(Mounting('wirst')), Accelerometer(Mounting('wirst')),
], ids=lambda sensor: sensor.name)
def test_sensors_on_what_the_robot_lacks_are_refused(sensor):
    with pytest.raises(ModelError, match="there is no such .*found 'wirst'"):
        problem(segment(observation(), observation(sensor)))
