"""Rows, estimate and changes of a robot that is followed while it moves."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.online.live_rows import LiveRows
from sysid_ros.estimation.online.online import Committed, OnlineIdentification, OnlineSettings
from sysid_ros.estimation.rows import Rows
from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.recording.live.window import LiveWindow

RATE, NOISE = 240.0, 0.05
FILTERED = {
    'position_filter': {'cutoff': 20.0}, 'parallel_filter': {'cutoff': 10.0, 'decimate_to': 24.0}}
PLAIN = {'differentiation': 'savitzky_golay'}


class Robot:
    """An arm that moves for ever, and what has been heard of it."""

    def __init__(self, folder, processing, **robot):
        self.arm = SimulatedArm(2)
        (folder / 'arm.urdf').write_text(self.arm.description)
        self.setup = FitSetup.of(Identification(IdentificationSettings.model_validate({
            'robot': {'urdf': 'arm.urdf', **robot}, 'processing': processing,
            'recording': {'format': 'rosbag', 'file': '', 'topic': 'joint_states'}}), folder))
        self.model = self.setup.model
        self.truth = dict(zip(self.arm.model.parameters.names, self.arm.truth, strict=True))
        self.t = np.arange(round(40.0 * RATE)) / RATE
        self.q, self.v, _ = self.arm.motion(self.t)
        self.tau = self.arm.torque(self.t) + NOISE * np.random.default_rng(0).normal(
            size=self.q.shape)

    def window(self, first, last):
        rows = slice(round(first * RATE), round(last * RATE))
        return LiveWindow(
            self.arm.joint_names, self.t[rows], self.q[rows], np.full_like(self.q[rows], np.nan),
            self.tau[rows], 1.7e9)

    def follow(self, follower, first, last, step=0.5):
        """Hand over what is asked for, every so many seconds."""
        for now in np.arange(first + step, last + 1e-9, step):
            since = max(follower.since - 1.7e9, first, 0.0)
            follower.take(self.window(since, now))
        return follower


@pytest.fixture(params=[FILTERED, PLAIN], ids=['filtered', 'plain'])
def robot(request, tmp_path):
    return Robot(tmp_path, request.param)


@pytest.fixture
def filtered(tmp_path):
    return Robot(tmp_path, FILTERED)


@pytest.mark.parametrize('step', [0.3, 2.0])
def test_each_row_is_made_once_and_is_that_of_the_whole_recording(robot, step):
    live, parts = LiveRows(robot.setup), []
    for now in np.arange(step, 12.0 + 1e-9, step):
        part = live.take(robot.window(max(live.since - 1.7e9, 0.0), now))
        parts += [] if part is None else [part]
    rows = Rows.joined(parts)
    recording = robot.window(0.0, 12.0).recording(robot.setup.settings.recording)
    whole = robot.setup.problem(robot.setup.align(recording))
    assert len(whole.torque) - 1.5 * live.rate < len(rows) < len(whole.torque)
    assert live.rate == pytest.approx(whole.rate)
    for mine, its in ((rows.regressor, whole.regressor), (rows.torque, whole.torque)):
        np.testing.assert_allclose(
            mine, its[:len(mine)], rtol=0.0, atol=1e-6 * np.abs(its).max())


def test_after_a_gap_rows_begin_anew(filtered):
    live = LiveRows(filtered.setup)
    assert live.take(filtered.window(0.0, 4.0)) is not None
    until = live.until
    # Joint states of the time between are lost.
    assert live.take(filtered.window(6.0, 9.0)) is not None
    assert live.until > until + 3.0
    # The clock was set back.
    assert live.take(filtered.window(1.0, 5.0)) is not None
    assert live.until < until + 3.0


def test_what_is_in_the_way_is_said(filtered):
    live = LiveRows(filtered.setup)
    assert live.take(filtered.window(0.0, 0.1)) is None
    assert 'no stretch without a gap is long enough' in live.problem
    assert live.take(filtered.window(0.0, 0.0)) is None
    live.take(filtered.window(0.0, 4.0))
    assert live.problem == ''


def test_the_estimate_is_that_of_all_rows_at_once(robot):
    follower = robot.follow(
        OnlineIdentification(robot.setup, OnlineSettings(velocity=0.0)),
        0.0, 20.0)
    found = follower.estimate
    assert min(found.margins.values()) > 0.0
    recording = robot.window(0.0, 20.0).recording(robot.setup.settings.recording)
    dataset = robot.setup.align(recording)
    problem = robot.setup.problem(dataset)
    recursion = follower._recursion
    rows = slice(0, found.rows)
    again = recursion.settings.start(robot.model, recursion.noise)
    again.extend_rows(problem.regressor[rows], problem.torque[rows], problem.usable[rows])
    own = np.array([found.parameters[name] for name in again.parameters.names])
    assert (np.abs(own - again.theta) <= 0.05 * again.standard_deviation()).all()


def test_what_it_says_of_its_error_covers_the_truth(filtered):
    follower = filtered.follow(OnlineIdentification(
        filtered.setup, OnlineSettings()), 0.0, 30.0)
    found = follower.estimate
    truth = np.array([filtered.truth[name] for name in found.parameters.names])
    known = found.standard_deviation > 0.0
    distance = np.abs(found.parameters.values - truth)[known] / found.standard_deviation[known]
    assert np.mean(distance < 2.0) > 0.9
    assert 0.0 < found.relative_error < 0.1
    assert follower.message.startswith('following')


def test_rest_counts_for_nothing(filtered):
    follower = filtered.follow(OnlineIdentification(
        filtered.setup,
        OnlineSettings(forgetting='exponential', memory=5.0)), 0.0, 15.0)
    before = follower.estimate
    filtered.q[round(15.0 * RATE):] = filtered.q[round(15.0 * RATE)]
    filtered.follow(follower, 15.0, 30.0)
    # The filters need some time to come to rest, too.
    assert follower.estimate.rows - before.rows < 4.0 * follower._rows.rate
    assert follower.estimate.time > before.time + 12.0


def rows_of(follower, count, usable):
    random, joints = np.random.default_rng(count), len(follower._model.robot.joint_names)
    return Rows(
        random.normal(size=(count, joints, len(follower._parameters))),
        random.normal(size=(count, joints)), np.full((count, joints), usable),
        np.ones((count, joints)))


@pytest.mark.parametrize('warm_up', [5.0, 0.01])
def test_81_a_robot_whose_rows_are_all_masked_is_waited_for_in_bounded_memory(
    filtered, warm_up
):
    follower = OnlineIdentification(
        filtered.setup, OnlineSettings(warm_up=warm_up))
    follower._rows = SimpleNamespace(rate=24.0, problem='', since=0.0, until=0.0)
    most = 4 * max(round(warm_up * 24.0), len(follower._parameters))
    for usable in [False] * 100 + [True] + [False] * 100:
        follower._rows.take = lambda window, usable=usable: rows_of(follower, 24, usable)
        follower.take(None)
        assert follower.estimate is None
        assert len(follower._waiting) <= most
    # Of what counts nothing was lost.
    assert follower._waiting.usable.any(axis=1).sum() == 24
    follower._rows.take = lambda window: rows_of(follower, 120, True)
    follower.take(None)
    assert follower.estimate is not None
    assert follower._waiting is None


def test_a_load_is_found_and_named(filtered):
    follower = OnlineIdentification(filtered.setup, OnlineSettings())
    committed = Committed('one', filtered.model.parameters.with_values(filtered.truth))
    follower.compare_with(committed)
    filtered.follow(follower, 0.0, 15.0)
    assert follower.estimate.change is None
    body = filtered.model.parameters.bodies[-1]
    heavier = filtered.truth | {
        f'{body}.mass': filtered.truth[f'{body}.mass'] + 0.5}
    values = np.array([heavier[name] for name in filtered.model.parameters.names])
    after = slice(round(15.0 * RATE), None)
    q, v, a = (x[after] for x in filtered.arm.motion(filtered.t))
    filtered.tau[after] += filtered.model.torque(
        values, q, v, a) - filtered.arm.torque(filtered.t)[after]
    filtered.follow(follower, 15.0, 22.0)
    change = follower.estimate.change
    assert (change.kind, change.where) == ('payload', body)
    assert change.values[0] == pytest.approx(0.5, abs=4.0 * change.deviations[0])
    follower.compare_with(None)
    assert follower.estimate.change is None


def test_a_revision_with_other_joint_terms_is_followed_with_them(filtered):
    follower = filtered.follow(OnlineIdentification(filtered.setup, OnlineSettings()), 0.0, 8.0)
    described, spring = filtered.model, f'{filtered.model.robot.joint_names[0]}.stiffness'
    assert spring not in follower.estimate.parameters
    wider = replace(described, terms=(*described.terms, Stiffness()))
    truth = wider.parameters.with_values(filtered.truth | {spring: 30.0})
    filtered.tau[:, 0] += 30.0 * filtered.q[:, 0]
    follower.compare_with(Committed('one', truth, model=wider))
    filtered.follow(follower, 8.0, 25.0)
    assert follower.estimate.change is None
    found = follower.estimate.parameters
    deviation = follower.estimate.standard_deviation[found.names.index(spring)]
    assert found[spring] == pytest.approx(30.0, abs=4.0 * deviation)
    # Rolled back, the robot is what settings say.
    follower.compare_with(Committed('two', described.parameters.with_values(filtered.truth)))
    filtered.follow(follower, 25.0, 35.0)
    assert follower.estimate.parameters.names == described.parameters.names


def test_settings_of_the_fit_hold(filtered):
    own = FitSetup.of(filtered.setup.identification.with_fit(
        fixed=('*.coulomb_friction',), prior_strength=2.0))
    follower = filtered.follow(OnlineIdentification(own, OnlineSettings()), 0.0, 10.0)
    assert follower._recursion.settings.prior_strength == 2.0
    names = follower.estimate.parameters.names
    held = [k for k, name in enumerate(names) if name.endswith('coulomb_friction')]
    assert (follower.estimate.standard_deviation[held] == 0.0).all()
    described = filtered.model.parameters.values
    np.testing.assert_array_equal(
        follower.estimate.parameters.values[held], described[held])


def test_what_cannot_be_followed_is_refused(tmp_path):
    curved = Robot(tmp_path, FILTERED, terms={'stribeck_friction': 'all'})
    with pytest.raises(EstimationError, match='not linear'):
        OnlineIdentification(curved.setup, OnlineSettings())
    plain = Robot(tmp_path, FILTERED)
    with pytest.raises(ConfigurationError, match='no such moving link'):
        OnlineIdentification(
            plain.setup, OnlineSettings(payload_link='tool'))
