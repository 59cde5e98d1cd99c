"""From a fit to a revision: what is refused, what is kept, and what is handed over."""

import json
import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.faster_motion import FasterMotion
from sysid_ros.evaluation.shadow import ShadowSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.release.description_export import export_description
from sysid_ros.release.store import BaseChangedError, RevisionStore
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs import commit
from sysid_ros.runs.commit import (
    FinishedFit,
    InconsistentError,
    initial_content,
    prepare,
)
from sysid_ros.runs.judged import KEY, NotCommittableError


@pytest.fixture(scope='module')
def model(fits):
    return Identification.load(fits.settings).model()


@pytest.fixture
def store(tmp_path, model):
    path = tmp_path / 'revisions.sqlite'
    with RevisionStore(path) as store:
        store.begin(initial_content(model))
    return path


def edited(fits, tmp_path, name, change):
    """A copy of the fit with one of its JSON files changed, and digests of what it is now."""
    folder = fits.copy(tmp_path, 'edited')
    fits.edit(folder, name, change)
    return folder


@pytest.mark.parametrize('name', ['estimate.json', 'settings.yaml', 'prior.urdf'])
def test_a_verdict_does_not_pass_over_to_what_was_edited(fits, model, tmp_path, name):
    folder = fits.copy(tmp_path, 'edited')
    file = folder / name
    file.write_bytes(file.read_bytes() + b'\n')
    with pytest.raises(NotCommittableError, match=f'not made from {name}.*Fit again'):
        FinishedFit.open('edited', folder).content(model.robot)


def test_a_verdict_that_does_not_say_what_it_was_made_from_counts_for_nothing(
    fits, model, tmp_path
):
    folder = fits.copy(tmp_path, 'old')
    verdict = json.loads((folder / 'verdict.json').read_text())
    del verdict[KEY]
    (folder / 'verdict.json').write_text(json.dumps(verdict))
    with pytest.raises(NotCommittableError, match='not made from estimate.json'):
        FinishedFit.open('old', folder).content(model.robot)


def test_a_yes_with_reasons_against_is_no_yes(fits, model, tmp_path):
    folder = edited(fits, tmp_path, 'verdict.json', lambda data: data.update(
        reasons=['It is overfitted.']))
    with pytest.raises(NotCommittableError, match='overfitted'):
        FinishedFit.open('edited', folder).content(model.robot)


def test_a_good_fit_becomes_a_content_that_says_where_it_comes_from(fits, model, tmp_path, store):
    folder = fits.copy(tmp_path, 'fit_1')
    prepared = prepare(store, 'fit_1', folder, model.robot)
    content = prepared.content
    assert not prepared.is_current
    assert content.estimate == 'fit_1'
    assert content.estimated == 1_700_000_000_000_000_000
    assert content.prior_sha256 == model.robot.description.sha256
    assert len(content.recording_sha256) == 64
    assert content.quality.held_out_relative_error == 0.03
    assert content.quality.condition_number == 42.0
    assert content.quality.consistency_margin > 0.0
    known = content.validity
    for range_ in (known.fitted_range, known.judged_range):
        assert set(range_) == set(model.robot.joint_names)
        assert all(0.1 < one['speed'] < 10.0 for one in range_.values())
    assert 0.0 < FasterMotion.from_json(known.faster_motion).relative_error < 0.1
    reloaded = RobotModel.from_urdf(content.description.decode())
    terms = TorqueModel(reloaded, model.terms)
    motion = np.random.default_rng(0).normal(size=(3, 20, len(reloaded.joint_names)))
    # A URDF has no place for offsets; everything else is in it.
    offsets = content.parameters.values[-len(reloaded.joint_names):]
    np.testing.assert_allclose(
        terms.torque(terms.parameters.values, *motion) + offsets,
        model.torque(content.parameters.values, *motion), atol=1e-9)


def test_the_prior_is_kept_for_what_the_data_does_not_tell(fits, model, tmp_path, store):
    content = prepare(store, 'a', fits.copy(tmp_path, 'a'), model.robot).content
    assert 'shoulder.first_moment_x' in content.kept
    for name in content.kept:
        index = content.parameters.index(name)
        assert content.parameters.values[index] == content.parameters.prior[index]


def test_what_the_verdict_is_against_is_refused_with_its_reasons(fits, model, tmp_path):
    folder = edited(fits, tmp_path, 'verdict.json', lambda data: data.update(
        committable=False, reasons=['It is overfitted.'], next_steps=['Record longer.']))
    with pytest.raises(NotCommittableError, match='It is overfitted.*Record longer'):
        FinishedFit.open('edited', folder).content(model.robot)


@pytest.mark.parametrize('value', ['yes', 1, None])
def test_only_a_plain_yes_of_the_verdict_counts(fits, model, tmp_path, value):
    folder = edited(
        fits, tmp_path, 'verdict.json', lambda data: data.update(committable=value))
    with pytest.raises(NotCommittableError):
        FinishedFit.open('edited', folder).content(model.robot)


def test_parameters_of_no_real_body_are_refused_whatever_the_verdict_says(
    fits, model, tmp_path
):
    def spoil(data):
        k = data['parameters']['names'].index('forearm.inertia_xx')
        data['parameters']['values'][k] = -0.01
    folder = edited(fits, tmp_path, 'estimate.json', spoil)
    with pytest.raises(InconsistentError, match='no real body'):
        FinishedFit.open('edited', folder).content(model.robot)


def test_negative_friction_is_refused(fits, model, tmp_path):
    def spoil(data):
        k = data['parameters']['names'].index('elbow_pitch.coulomb_friction')
        data['parameters']['values'][k] = -0.5
    folder = edited(fits, tmp_path, 'estimate.json', spoil)
    with pytest.raises(InconsistentError, match='negative'):
        FinishedFit.open('edited', folder).content(model.robot)


def test_an_estimate_of_another_robot_is_refused(fits, model, tmp_path, random_urdf):
    fit = FinishedFit.open('a', fits.copy(tmp_path, 'a'))
    other = fits.arm.description.replace('<mass value="1.1"', '<mass value="1.2"')
    assert other != fits.arm.description
    for description in (other, random_urdf(0, 4)):
        with pytest.raises(NotCommittableError, match='another robot'):
            fit.content(RobotModel.from_urdf(description))
    upside_down = RobotModel.from_description(
        model.robot.description, gravity=(0.0, 0.0, 9.81))
    with pytest.raises(NotCommittableError, match='another robot'):
        fit.content(upside_down)


def test_an_unfinished_fit_is_refused(fits, tmp_path):
    folder = fits.copy(tmp_path, 'a')
    (folder / 'verdict.json').unlink()
    with pytest.raises(ConfigurationError, match='cannot be read'):
        FinishedFit.open('a', folder)
    (folder / 'estimate.json').unlink()
    with pytest.raises(ConfigurationError, match='not the folder of a fit'):
        FinishedFit.open('a', folder)


@pytest.mark.parametrize(('name', 'key', 'value'), [
    ('provenance.json', 'recording_end', 10**400),
    ('provenance.json', 'recording_end', '1.0'),
    ('provenance.json', 'estimated', -1),
    ('provenance.json', 'estimated', True),
    ('provenance.json', 'condition_number', 10**400),
    ('provenance.json', 'held_out_relative_error', [1.0]),
    ('verdict.json', 'reasons', 5),
    ('verdict.json', 'next_steps', 5),
])
def test_numbers_that_cannot_be_those_of_a_fit_are_refused(fits, tmp_path, name, key, value):
    folder = edited(fits, tmp_path, name, lambda data: data.update({key: value}))
    with pytest.raises(ConfigurationError, match=f'{name}: {key}: is not what a fit writes'):
        FinishedFit.open('edited', folder)


def test_a_range_of_motion_with_a_list_for_a_number_is_not_known(fits, tmp_path):
    def spoil(data):
        next(iter(data['provenance']['fitted_range'].values()))['speed'] = [1.0, 2.0]
    folder = edited(fits, tmp_path, 'estimate.json', spoil)
    assert FinishedFit.open('edited', folder).fitted_range is None


def test_a_fit_on_another_base_is_refused_before_anything_else_is_tried(
    fits, model, tmp_path, store
):
    first = fits.copy(tmp_path, 'fit_1')
    with RevisionStore(store) as revisions:
        revisions.commit(prepare(store, 'fit_1', first, model.robot).content, '')
    assert prepare(store, 'fit_1', first, model.robot).is_current
    with pytest.raises(BaseChangedError):
        prepare(store, 'fit_2', fits.copy(tmp_path, 'fit_2'), model.robot)


def test_a_fit_from_the_terminal_has_the_initial_base_and_no_figures(fits, model, tmp_path):
    folder = fits.copy(tmp_path, 'a')
    (folder / 'provenance.json').unlink()
    fit = FinishedFit.open('a', folder)
    assert fit.base == ''
    assert fit.recording_end == pytest.approx((folder / 'estimate.json').stat().st_mtime)
    assert math.isnan(fit.content(model.robot).quality.held_out_relative_error)


def live(fits, seconds=8.0, origin=None):
    arm = fits.arm
    t = np.arange(round(seconds * 100.0)) / 100.0
    q, v, _ = arm.motion(t + 30.0)
    return LiveWindow(arm.joint_names, t - t[-1], q, v, arm.torque(t + 30.0), origin)


@pytest.fixture
def shadow(fits, model, tmp_path):
    fit = FinishedFit.open('a', fits.copy(tmp_path, 'a', recording_end=1_000_000_000_000))
    content = fit.content(model.robot)

    def shadow(window, duration=5.0, current=None):
        return fit.shadow(
            content, current or model.parameters, window, duration, ShadowSettings())

    shadow.content = content
    return shadow


def test_a_good_fit_wins_its_shadow_test(fits, shadow):
    result = shadow(live(fits, origin=1_010.0))
    assert result.won
    assert result.candidate.relative_error < 0.05
    assert not shadow(live(fits, origin=1_010.0), current=shadow.content.parameters).won


def test_a_shadow_test_beyond_the_fitted_motion_says_so(fits, model, tmp_path):
    def slower(data):
        for one in data['provenance']['fitted_range'].values():
            one['speed'] /= 2.0

    fit = FinishedFit.open('edited', edited(fits, tmp_path, 'estimate.json', slower))
    shadow = fit.shadow(
        fit.content(model.robot), model.parameters, live(fits, origin=time.time()), 5.0,
        ShadowSettings())
    assert any('times the speed' in text for text in shadow.beyond)


def test_data_that_was_fitted_does_not_count(fits, shadow):
    """Of eight seconds that end at 1004.5 s, those after 1000 s are new."""
    with pytest.raises(RecordingError, match=r'found 4.49 s.*allowed 5 s'):
        shadow(live(fits, origin=1_004.5))
    assert shadow(live(fits, origin=1_004.5), duration=4.4).won


def test_a_robot_that_stood_still_tells_nothing(fits, shadow):
    window = live(fits, origin=1_010.0)
    still = replace(window, q=np.zeros_like(window.q), v=np.zeros_like(window.v))
    with pytest.raises(RecordingError, match='found 0 s up to the last motion'):
        shadow(still)


@pytest.mark.parametrize(('written', 'spoilt', 'words'), [
    (rb'(<mass value=")([\d.e+-]+)"', rb'\g<1>9\2"', 'does not reproduce the torques'),
    (rb'(damping=")([\d.e+-]+)"', rb'\g<1>9\2"', 'the exported friction'),
])
def test_56_the_bytes_that_would_be_handed_over_are_read_again(
    fits, model, tmp_path, monkeypatch, written, spoilt, words
):
    def export(robot, parameters, **others):
        right = export_description(robot, parameters, **others)
        xml = re.sub(written, spoilt, right.xml)
        assert xml != right.xml
        return replace(right, xml=xml)

    fit = FinishedFit.open('a', fits.copy(tmp_path, 'a'))
    monkeypatch.setattr(commit, 'export_description', export)
    with pytest.raises(InconsistentError, match=words):
        fit.content(model.robot)
