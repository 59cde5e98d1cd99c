"""A fit by a settings file, or by what one would say."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

import sysid_ros as si
from support.simulated_arm import SimulatedArm

ARM = SimulatedArm(1)
# Leaves nothing to the data, so that a fit takes a second.
QUICK = {
    'automatic': False, 'fit': {'estimator': 'wls'},
    'processing': {'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}}}


@pytest.fixture(scope='module')
def arrays():
    t = np.arange(1200) / 100.0
    tau = ARM.torque(t)
    return t, ARM.motion(t)[0], tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)


@pytest.fixture
def file(tmp_path, arrays):
    """A settings file in a folder that is not the current one, as ``sysid init`` writes it."""
    folder = tmp_path / 'robot'
    folder.mkdir()
    (folder / 'arm.urdf').write_text(ARM.description, encoding='utf-8')
    np.savez(folder / 'motion.npz', **dict(zip(('t', 'q', 'tau'), arrays, strict=True)))
    settings = {'robot': {'urdf': 'arm.urdf'}, **QUICK, 'recording': {
        'format': 'npz', 'file': 'motion.npz', 'joints': list(ARM.joint_names),
        'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}}
    (folder / 'first.yaml').write_text(yaml.safe_dump(settings), encoding='utf-8')
    return folder / 'first.yaml'


def values(run):
    return run.estimate.parameters.values


@pytest.mark.slow
def test_a_settings_file_says_all_that_arguments_do(file, arrays, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = si.fit(settings=file)
    others = [
        si.fit(settings=si.Settings.load(file)),
        si.fit('robot/arm.urdf', si.Recording.from_arrays(*arrays), settings=si.Settings(QUICK)),
        si.fit('robot/arm.urdf', si.Recording.from_arrays(*arrays), settings=QUICK),
        si.fit('robot/arm.urdf', si.Recording.from_arrays(*arrays), automatic=False,
               estimator='wls', processing=QUICK['processing'])]
    for other in others:
        np.testing.assert_allclose(values(other), values(found), rtol=1e-9, atol=1e-12)
    assert found.verdict.committable == others[0].verdict.committable


def test_another_recording_takes_the_robot_and_the_sections_of_a_file(file, arrays):
    t, q, tau = arrays
    half = si.Recording.from_arrays(t[:800], q[:800], tau[:800])
    run = si.fit(recording=half, settings=file)
    assert run.estimate.estimator == 'wls'
    assert not np.allclose(values(run), values(si.fit(settings=file)))


def test_what_a_run_chose_fits_the_same_again(file, tmp_path):
    run = si.fit(settings=file, folder=tmp_path / 'run')
    again = si.fit(settings=run.settings)
    np.testing.assert_allclose(values(again), values(run), rtol=1e-9, atol=1e-12)


def test_settings_are_written_and_read_as_they_are(file):
    settings = si.Settings.load(file)
    settings.save(file.with_name('second.yaml'))
    assert si.Settings.load(file.with_name('second.yaml')).sections == settings.sections


@pytest.mark.parametrize(('sections', 'words'), [
    ({'procesing': {}}, 'procesing'), ({'fit': {'estimatr': 'wls'}}, 'estimatr'),
    ({'processing': {'parallel_filter': {'cutoff': -1.0}}}, 'cutoff')])
def test_a_wrong_key_or_value_is_said_when_settings_are_made(sections, words):
    with pytest.raises(si.ConfigurationError, match=words):
        si.Settings(sections)


@pytest.mark.parametrize(('arguments', 'words'), [
    ({'processing': QUICK['processing']}, 'processing is said twice'),
    ({'estimator': 'lmi'}, 'estimator is said twice'),
    ({'automatic': True}, 'automatic is said twice'),
    ({'robot': 'other.urdf'}, 'robot is said twice')])
def test_what_settings_say_is_not_said_again(file, arguments, words):
    with pytest.raises(si.ConfigurationError, match=words) as refused:
        si.fit(settings=file, **arguments)
    assert 'Say it once' in str(refused.value)


@pytest.mark.parametrize(('given', 'words'), [
    ({}, 'there is no recording'), ({'robot': 'arm.urdf'}, 'there is no recording')])
def test_what_nobody_says_is_asked_for(given, words):
    with pytest.raises(si.ConfigurationError, match=words) as refused:
        si.fit(**given)
    assert "settings='first.yaml'" in str(refused.value)


def test_a_robot_that_nobody_says_is_asked_for(arrays):
    with pytest.raises(si.ConfigurationError, match='there is no robot'):
        si.fit(recording=si.Recording.from_arrays(*arrays), settings=si.Settings(QUICK))
