"""A campaign plays what is missing until enough is known, and says why where that never comes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.campaign import Campaign
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.excitation.campaign import Outcome, WantedAccuracy
from sysid_ros.excitation.configuration import ExcitationPlan, ExcitationSettings
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.settings import parse_settings

ROBOT = {'urdf': 'arm.urdf'}
SEARCH = {'starts': 1, 'iterations': 25, 'verification_rate': 200.0}
# Torque noise in parts of the effort limit.
NOISE = 0.015
RATE = 100.0
TRIALS = 5


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('campaign')
    (folder / 'arm.urdf').write_text(DESCRIPTION, encoding='utf-8')
    return folder


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(seed=3)


@pytest.fixture(scope='module')
def setup(folder):
    """Settings by which recordings are fitted."""
    settings = parse_settings(IdentificationSettings, {
        'robot': ROBOT,
        'recording': {
            'format': 'csv', 'file': 'none.csv', 'time': {'column': 't'},
            'joints': ['base_yaw', 'shoulder_pitch', 'elbow_pitch', 'wrist_roll'],
            'position': {'columns': ['q1', 'q2', 'q3', 'q4']},
            'effort': {'columns': ['e1', 'e2', 'e3', 'e4']}},
        'processing': {'differentiation': 'measured'},
    }, 'settings')
    return FitSetup.of(Identification(settings, Path(folder)))


@pytest.fixture(scope='module')
def designer(folder):
    settings = parse_settings(ExcitationSettings, {
        'robot': ROBOT, 'motion': {'duration': 8.0}, 'design': SEARCH}, 'plan')
    return ExcitationPlan(settings, Path(folder)).designer()


class Robot:
    """Plays motions as they are, and measures their torques.

    Args:
        arm: Its true parameters.
        noise: Torque noise in parts of the effort limit.
        spring: Stiffness in [N·m/rad] across its second joint, which no model has.
    """

    def __init__(self, arm, noise=NOISE, spring=0.0):
        self.arm, self.noise, self.spring = arm, noise, spring
        self.rng = np.random.default_rng(7)

    def torque(self, q, v, a):
        torque = self.arm.model.torque(self.arm.truth, q, v, a)
        torque[:, 1] += self.spring * np.sin(2.0 * q[:, 1])
        return torque

    def play(self, motion):
        rows, names = motion.grid(RATE), self.arm.joint_names
        torque = self.torque(rows.q, rows.v, rows.a)
        deviation = self.noise * self.arm.model.robot.limits.effort
        torque += deviation * self.rng.normal(size=torque.shape)
        return Recording(tuple(
            Channel(quantity, names, unit, rows.t, values) for quantity, unit, values in (
                ('position', 'rad', rows.q), ('velocity', 'rad/s', rows.v),
                ('acceleration', 'rad/s²', rows.a), ('effort', 'N·m', torque))),
            'simulated', '')


def played(campaign, robot, most=8):
    """Decisions until there is no motion."""
    decisions = [campaign.begin()]
    while decisions[-1].motion is not None:
        assert len(decisions) <= most
        decisions.append(campaign.step(robot.play(decisions[-1].motion)))
    return decisions


def random_rows(designer):
    """Regressor of random motions within the limits, which were not played, ``(T n, p)``."""
    rest, objective = designer.rest(), designer.objective(200)
    rows = [objective.motion(designer.random_motion(rest, seed))[1]
            for seed in range(100, 100 + TRIALS)]
    return np.concatenate(rows).reshape(-1, rows[0].shape[-1])


def true_torque_error(arm, designer, values):
    """Relative torque error on those motions."""
    rows = random_rows(designer)
    return np.linalg.norm(rows @ (values - arm.truth)) / np.linalg.norm(rows @ arm.truth)


def test_four_motions_tell_torques_to_a_percent_and_base_parameters_to_five(
    setup, designer, arm
):
    wanted = WantedAccuracy(torque=0.01, base=0.05)
    campaign = Campaign(setup, designer, wanted)
    *before, last = played(campaign, Robot(arm))
    assert last.outcome is Outcome.REACHED
    assert 2 <= len(before) <= 4
    assert all(one.outcome is Outcome.PLAY for one in before)
    # Nothing is known by the prior alone, and each motion tells more.
    errors = [one.reached.torque for one in (*before, last)]
    assert errors[0] > 0.1
    assert (np.diff(errors) < 0.0).all()
    values = campaign.estimate.parameters.values
    # The expected error is the root mean square of what noise brings; twice that is rare.
    assert true_torque_error(arm, designer, values) < 2.0 * wanted.torque
    base = designer.information.base
    columns = np.linalg.norm(random_rows(designer)[:, base.independent], axis=0)
    wrong = columns * base.values(values - arm.truth)
    assert np.linalg.norm(wrong) < 2.0 * 0.05 * np.linalg.norm(columns * base.values(arm.truth))


def test_each_motion_is_as_good_as_was_expected_of_it(setup, designer, arm):
    campaign = Campaign(setup, designer, WantedAccuracy(torque=0.004), most_motions=60)
    robot = Robot(arm)
    second = campaign.step(robot.play(campaign.begin().motion))
    third = campaign.step(robot.play(second.motion))
    # Noise is known from the first recording on.
    assert third.reached.torque == pytest.approx(second.expected.torque, rel=0.3)


def test_what_no_number_of_motions_reaches_is_said_with_what_would_help(setup, designer, arm):
    campaign = Campaign(setup, designer, WantedAccuracy(torque=0.002), most_motions=2)
    decision = campaign.step(Robot(arm, noise=0.05).play(campaign.begin().motion))
    assert decision.outcome is Outcome.OUT_OF_REACH
    assert decision.motion is None
    assert decision.limiting
    assert set(decision.limiting) <= set(setup.model.parameters.names)
    assert '1 of 2 are left' in decision.reason
    assert 'times less noise' in decision.reason
    assert f'fixed: [{", ".join(decision.limiting)}]' in decision.reason


def test_a_torque_that_the_model_does_not_have_is_no_matter_of_more_motion(setup, designer, arm):
    campaign = Campaign(setup, designer, WantedAccuracy(torque=0.01))
    # Of the second joint's torque, some 20 N·m, a good part.
    last = played(campaign, Robot(arm, spring=6.0))[-1]
    assert last.outcome is Outcome.WRONG_MODEL
    assert last.motion is None
    assert 'More motion fits the same model again' in last.reason


@pytest.mark.parametrize('given', [
    {'torque': None}, {'torque': 0.0}, {'torque': 0.01, 'base': -1.0}, {'torque': np.inf}])
def test_an_accuracy_that_none_could_reach_is_refused(given):
    with pytest.raises(ConfigurationError, match='wanted accuracy cannot be used'):
        WantedAccuracy(**given)


def test_a_search_for_another_robot_is_refused(setup, designer):
    bare = replace(designer.model, terms=())
    with pytest.raises(ConfigurationError, match='other parameters than motions are designed for'):
        Campaign(setup, replace(designer, model=bare))
