"""A campaign through nodes that answer as told, with a planner that decides as told."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.campaign import Accuracy, Decision, Outcome, WantedAccuracy
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import excitation_yaml
from sysid_ros.nodes import guided_campaign
from sysid_ros.nodes.guided_campaign import GuidedCampaign
from sysid_ros.nodes.guided_steps import CampaignSettings
from sysid_ros.nodes.terminal import Terminal

KNOWN = Accuracy(0.02, 0.03, np.zeros(1))
PARAMETERS = {
    ('excitation_node', 'plan'): 'excitation.yaml',
    ('identification_node', 'settings'): 'identification.yaml',
    ('identification_node', 'data_folder'): 'data'}


def motion(position):
    """A motion of one joint."""
    return Excitation(('swing',), FourierBasis(2.0, (1, 2, 3)), np.full((5, 1), position))


class PaperSteps:
    """Plays and records nothing, and remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def pass_slowly(self, motion):
        self.asked.append(('slowly', motion.name))

    def record(self, motion):
        self.asked.append(('record', motion.fields['motion_yaml']))
        return f'r{len([kind for kind, _ in self.asked if kind == "record"])}'


class PaperOperator:
    """Knows the parameters of the nodes."""

    node = 'client'

    def ask(self, kind, name, *, names):
        assert kind is GetParameters
        value = PARAMETERS[name.removesuffix('/get_parameters'), names[0]]
        return GetParameters.Response(values=[ParameterValue(string_value=value)])


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """Makes a campaign of some decisions, in the folder that its nodes run in."""
    monkeypatch.chdir(tmp_path)
    for name in ('excitation.yaml', 'identification.yaml'):
        (tmp_path / name).touch()
    (tmp_path / 'data').mkdir()
    made = SimpleNamespace(steps=PaperSteps(), read=[], wanted=None, described=[])

    def load(folder):
        made.read.append(folder.name)
        return SimpleNamespace(recording=lambda: folder.name)

    def describe(node, path):
        assert node == 'client'
        return f'description for {path.name}'

    def taken(path, description):
        made.described.append(description)
        return path

    monkeypatch.setattr(guided_campaign, 'published_description', describe)
    monkeypatch.setattr(guided_campaign, 'load_without_recording', taken)
    monkeypatch.setattr(guided_campaign, 'load_source', load)
    monkeypatch.setattr(guided_campaign, 'FitSetup', SimpleNamespace(of=lambda path: path))
    monkeypatch.setattr(guided_campaign, 'ExcitationPlan', SimpleNamespace(
        load=lambda path, text: SimpleNamespace(designer=lambda: taken(path, text))))

    def make(*decisions, **settings):
        left = list(decisions)

        def planned(setup, designer, wanted, most):
            made.wanted, made.most = wanted, most
            assert (setup.name, designer.name) == ('identification.yaml', 'excitation.yaml')
            return SimpleNamespace(
                begin=lambda show: left.pop(0), step=lambda recording, show: left.pop(0))

        monkeypatch.setattr(guided_campaign, 'Campaign', planned)
        made.campaign = GuidedCampaign(
            CampaignSettings(**settings), made.steps, PaperOperator(), Terminal(yes=True))
        return made

    return make


def test_motions_are_played_until_the_accuracy_is_reached(campaign, capsys):
    made = campaign(
        Decision(Outcome.PLAY, KNOWN, motion(0.1)), Decision(Outcome.PLAY, KNOWN, motion(0.2)),
        Decision(Outcome.REACHED, KNOWN, reason='Now: well.'), torque=0.02, most_motions=4)
    recordings, last, reached = made.campaign.run()
    assert recordings == made.read == ['r1', 'r2'] and reached
    texts = [excitation_yaml(motion(position)) for position in (0.1, 0.2)]
    # Slowly before the first alone.
    assert made.steps.asked == [
        ('slowly', 'motion 1 of at most 4'), ('record', texts[0]), ('record', texts[1])]
    assert last.fields == {'motion_yaml': texts[1]}
    assert made.wanted == WantedAccuracy(0.02, None) and made.most == 4
    assert 'The wanted accuracy is reached. Now: well.' in capsys.readouterr().out


def test_files_without_a_description_take_that_which_the_nodes_have_heard(campaign):
    made = campaign(
        Decision(Outcome.PLAY, KNOWN, motion(0.1)), Decision(Outcome.REACHED, KNOWN))
    made.campaign.run()
    assert made.described == [
        'description for identification.yaml', 'description for excitation.yaml']


@pytest.mark.parametrize('outcome', [Outcome.OUT_OF_REACH, Outcome.WRONG_MODEL])
def test_where_no_motion_helps_it_says_why(campaign, capsys, outcome):
    made = campaign(
        Decision(Outcome.PLAY, KNOWN, motion(0.1)), Decision(outcome, KNOWN, reason='Too noisy.'))
    recordings, _, reached = made.campaign.run()
    assert recordings == ['r1'] and not reached
    assert f'{outcome.value} Too noisy.' in capsys.readouterr().out


def test_where_nothing_has_to_be_played_there_is_nothing_to_fit(campaign):
    made = campaign(Decision(Outcome.REACHED, KNOWN))
    with pytest.raises(ConfigurationError, match='nothing to play'):
        made.campaign.run()


@pytest.mark.parametrize(('settings', 'words'), [
    ({'plan': 'gone.yaml'}, '--plan'), ({'settings': 'gone.yaml'}, '--settings'),
    ({'data_folder': 'gone'}, '--data-folder')])
def test_files_of_nodes_on_another_computer_are_asked_for(campaign, settings, words):
    made = campaign(Decision(Outcome.REACHED, KNOWN), **settings)
    with pytest.raises(ConfigurationError, match=words):
        made.campaign.run()
    assert not made.steps.asked
