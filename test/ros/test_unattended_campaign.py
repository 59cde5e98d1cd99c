"""A campaign for a goal, with nodes that answer as told."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.action import Excite, Identify, RunCampaign
from sysid_ros.errors import (
    ConfigurationError,
    EstimationError,
    ExcitationError,
    RecordingError,
    SysidError,
)
from sysid_ros.excitation.campaign import Accuracy, Decision, Outcome
from sysid_ros.msg import ResultCode
from sysid_ros.nodes import guided_campaign, unattended_campaign
from sysid_ros.nodes.campaign_node import CampaignNode, require_allowed
from sysid_ros.nodes.campaign_settings import CampaignNodeSettings
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.unattended_campaign import UnattendedCampaign, run_settings

PLAY = Decision(
    Outcome.PLAY, Accuracy(0.2, 0.3, np.zeros(1)), motion=object(),
    expected=Accuracy(0.02, 0.03, np.zeros(1)))
REACHED = Decision(Outcome.REACHED, Accuracy(0.01, 0.02, np.zeros(1)), reason='Now: well.')
OUT_OF_REACH = Decision(
    Outcome.OUT_OF_REACH, Accuracy(0.1, 0.2, np.zeros(1)), limiting=('arm.mass',),
    reason='Too noisy.')


def goal(**fields):
    return RunCampaign.Goal(**{'arm': True, **fields})


class PaperOperator:
    """Stands for the client of the nodes.

    Attributes:
        asked: What was asked for, in order.
    """

    def __init__(self, client, patience, *, poll, feedback):
        self.asked = ['made']
        self.poll, self.feedback, self.resting = poll, feedback, True

    def wait_for_nodes(self, seconds):
        self.poll()

    def identify(self, recordings):
        self.asked.append(('identify', recordings))
        self.feedback(Identify.Feedback(stage='Fitting', progress=0.5))
        return Identify.Result(success=True, estimate='e7', committable=True)

    def stop(self):
        # A goal that was taken back must not end the stop.
        self.poll()
        self.asked.append('stop')
        return self.resting

    def close(self):
        self.asked.append('close')


@pytest.fixture
def paper(monkeypatch):
    """Makes campaigns that go as told, by nodes of paper."""
    logger = SimpleNamespace(said=[], errors=[])
    logger.info, logger.error = logger.said.append, logger.errors.append
    node = SimpleNamespace(
        settings=CampaignNodeSettings(), get_name=lambda: 'campaign_node',
        get_namespace=lambda: '/arm', get_logger=lambda: logger)
    made = SimpleNamespace(logger=logger, progress=Progress(), clients=[], then=lambda: None)

    def client(name, **options):
        made.clients.append((name, options['namespace'], options['use_global_arguments']))
        return SimpleNamespace(destroy_node=lambda: made.clients.append('destroyed'))

    def operator(*arguments, **named):
        made.operator = PaperOperator(*arguments, **named)
        return made.operator

    monkeypatch.setattr(unattended_campaign, 'Node', client)
    monkeypatch.setattr(unattended_campaign, 'Operator', operator)

    def make(*decisions, error=None, **fields):
        class Guided:
            def __init__(self, settings, steps, operator, listener, decided):
                made.settings, self.listener, self.decided = settings, listener, decided

            def run(self):
                for number, decision in enumerate(decisions):
                    self.listener.require(f'Play motion {number + 1}.')
                    self.decided(decision, [f'r{k + 1}' for k in range(number)])
                    made.operator.feedback(Excite.Feedback(progress=0.25))
                    made.then()
                    made.operator.poll()
                if error is not None:
                    raise error
                recordings = [f'r{k + 1}' for k in range(len(decisions) - 1)]
                return recordings, None, decisions[-1].outcome is Outcome.REACHED

        monkeypatch.setattr(guided_campaign, 'GuidedCampaign', Guided)
        made.campaign = UnattendedCampaign(node, goal(**fields), made.progress)
        return made

    return make


def test_it_ends_with_the_fit_of_all_recordings_and_leaves_nothing_behind(paper):
    made = paper(PLAY, PLAY, REACHED, torque_accuracy=0.02, most_motions=4)
    fit = made.campaign.run()
    assert fit.estimate == 'e7' and made.campaign.reached
    assert made.campaign.recordings == ['r1', 'r2'] and made.campaign.decision is REACHED
    assert made.campaign.outcome == 'The wanted accuracy is reached. Now: well.'
    assert made.operator.asked == ['made', ('identify', 'r1,r2'), 'stop', 'close']
    assert made.settings.torque == 0.02 and made.settings.most_motions == 4
    # In the namespace of the node, and not under its name, which belongs to one node alone.
    assert made.clients == [('_campaign_node_client', '/arm', False), 'destroyed']


def test_what_is_done_is_fed_back_with_how_much_of_it(paper):
    made = paper(PLAY, REACHED)
    made.campaign.run()
    said = made.progress.new_reports()
    for report in (('Waiting for the nodes.', 0.0), ('Play motion 1.', 0.0),
                   ('Play motion 1.', 0.25), ('Fitting', 0.5)):
        assert report in said
    assert 'Play motion 1.' in made.logger.said


def test_motions_are_counted_from_one(paper):
    made = paper(PLAY, PLAY, REACHED)
    assert made.campaign.motion == 0
    seen = []
    made.then = lambda: seen.append(made.campaign.motion)
    made.campaign.run()
    assert seen == [1, 2, 2]


def test_a_goal_that_is_taken_back_ends_in_mid_motion_with_the_robot_at_rest(paper):
    made = paper(PLAY, PLAY, REACHED)
    made.then = made.progress.withdraw
    with pytest.raises(RefusedError) as refusal:
        made.campaign.run()
    assert refusal.value.code == ResultCode.CANCELLED
    assert made.operator.asked == ['made', 'stop', 'close'] and made.clients[-1] == 'destroyed'
    assert not made.logger.errors


def test_a_node_that_is_deactivated_says_that_as_the_reason(paper):
    made = paper(PLAY, REACHED)
    made.then = lambda: made.campaign.end('the node was deactivated')
    with pytest.raises(RefusedError, match='the node was deactivated') as refusal:
        made.campaign.run()
    assert refusal.value.code == ResultCode.STOPPED
    assert 'stop' in made.operator.asked


def test_a_robot_that_is_not_seen_at_rest_is_an_error_in_the_log(paper):
    made = paper(PLAY, REACHED)
    made.then = lambda: setattr(made.operator, 'resting', False)
    made.campaign.run()
    assert made.logger.errors == ['The robot is not seen to be at rest.']


@pytest.mark.parametrize(('error', 'code'), [
    (RecordingError('no efforts'), ResultCode.BAD_DATA),
    (EstimationError('did not converge'), ResultCode.FAILED),
    (ExcitationError('no motion is allowed'), ResultCode.NOT_SAFE),
    (ConfigurationError('no such file'), ResultCode.INVALID_REQUEST),
    (SysidError('waited in vain'), ResultCode.NOT_READY),
    (RefusedError(ResultCode.STOPPED, SysidError('too near')), ResultCode.STOPPED),
])
def test_a_step_that_fails_has_a_code_and_its_recordings_are_known(paper, error, code):
    made = paper(PLAY, PLAY, error=error)
    with pytest.raises(RefusedError, match=str(error)) as refusal:
        made.campaign.run()
    assert refusal.value.code == code
    assert made.campaign.recordings == ['r1']


@pytest.mark.parametrize(('name', 'values'), [
    ('torque_accuracy', (0.0, -0.1, 1.5, math.nan, math.inf)),
    ('base_accuracy', (-0.1, 1.5, math.nan)), ('most_motions', (0, 101)),
    ('speed_scale', (0.0, 1.5, math.nan)), ('first_pass', (-0.1, 1.5, math.nan)),
])
def test_numbers_out_of_range_are_refused_by_their_names(name, values):
    for value in values:
        with pytest.raises(RefusedError, match=name) as refusal:
            require_allowed(goal(**{name: value}))
        assert refusal.value.code == ResultCode.INVALID_REQUEST


def test_a_goal_that_does_not_consent_to_motion_is_refused_with_what_to_do():
    with pytest.raises(RefusedError, match='arm: true') as refusal:
        require_allowed(goal(arm=False))
    assert refusal.value.code == ResultCode.NOT_ARMED


def test_a_goal_of_which_only_the_consent_is_given_is_allowed():
    asked = goal()
    require_allowed(asked)
    settings = run_settings(asked, CampaignNodeSettings(plan='plan.yaml', patience=5.0))
    assert settings.campaign.torque == 0.01 and settings.campaign.base is None
    assert settings.campaign.most_motions == 6 and settings.campaign.plan == 'plan.yaml'
    assert (settings.speed, settings.first_pass, settings.patience) == (1.0, 0.2, 5.0)
    assert settings.yes and not settings.commit


def test_the_result_says_why_the_accuracy_is_not_reached_and_what_there_is(paper, monkeypatch):
    """The coroutine of the node, whose thread is none here."""
    made = paper(PLAY, OUT_OF_REACH)

    async def at_once(work):
        return work()

    node = SimpleNamespace(_background=SimpleNamespace(run=at_once), _campaign=None)
    monkeypatch.setattr(
        unattended_campaign, 'UnattendedCampaign', lambda *_: made.campaign)
    result = RunCampaign.Result()
    with pytest.raises(RefusedError, match=r'does not reach .* Too noisy') as refusal:
        CampaignNode._run(node, goal(), result, made.progress).send(None)
    assert refusal.value.code == ResultCode.NOT_REACHED
    assert (result.estimate, result.committable, result.recordings) == ('e7', True, ['r1'])
    assert (result.torque_accuracy, list(result.limiting)) == (0.1, ['arm.mass'])
    # What was said last is fed back with what was known in the end.
    feedback = RunCampaign.Feedback()
    CampaignNode._describe(node, feedback)
    assert (feedback.motion, feedback.torque_accuracy) == (1, 0.1)
