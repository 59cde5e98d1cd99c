"""The prior of a fleet from the runs of a batch, as files that a fit can use."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import yaml

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.regression.consistent.fleet_prior import FleetLeastSquares
from sysid_ros.fleet.batch import batch as fit_table
from sysid_ros.fleet.pool import SerialPool
from sysid_ros.fleet.prior_files import read_prior, write_prior
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.sources import FitSources
from sysid_ros.fleet.table import read_table
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.sources import load_without_recording

_ROBOTS = 5


@pytest.fixture
def batch(tmp_path, fits):
    """Records and runs of five arms whose frictions and masses are 5 % apart."""
    random, records = np.random.default_rng(3), []
    for k in range(_ROBOTS):
        folder = tmp_path / 'runs' / f'arm_{k}' / 'monday'
        shutil.copytree(fits.folder, folder)
        estimate = Estimate.load(folder / 'estimate.json')
        base = estimate.base_values * random.normal(1.0, 0.05, len(estimate.base_values))
        values = estimate.parameters.values * random.normal(1.0, 0.05)
        (folder / 'estimate.json').write_text(dataclasses.replace(
            estimate, base_values=base,
            parameters=estimate.parameters.with_values(values)).to_json())
        records.append(FitRecord(
            run=f'arm_{k}/monday', robot=f'arm_{k}', source='monday.npz',
            status=FitStatus.COMMITTABLE))
    return records, tmp_path / 'runs'


def test_the_next_robot_gets_a_description_and_settings(batch, tmp_path):
    records, runs = batch
    written = write_prior(records, runs, tmp_path)
    assert [folder.name for folder in written.folders] == ['prior_1']
    settings = load_without_recording(written.folders[0] / 'settings.yaml').settings
    assert settings.fit.prior_strength is None
    assert settings.fit.fleet == written.prior.clusters[0].distribution.as_prior(_ROBOTS)
    assert isinstance(settings.fit.build().estimator, FleetLeastSquares)
    assert settings.recording.file is not None
    robot = RobotModel.from_description(written.folders[0] / 'robot.urdf')
    distribution = written.prior.clusters[0].distribution
    count = 10 * len(robot.body_names)
    np.testing.assert_allclose(
        np.concatenate(robot.inertial_prior), distribution.theta[:count], rtol=1e-9, atol=1e-12)


def test_an_estimator_that_takes_no_distribution_gets_the_strength_of_a_prior(batch, tmp_path):
    records, runs = batch
    file = runs / records[0].run / 'settings.yaml'
    settings = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(settings | {'fit': {'estimator': 'log_cholesky'}}))
    written = write_prior(records, runs, tmp_path)
    fit = load_without_recording(written.folders[0] / 'settings.yaml').settings.fit
    assert fit.fleet is None
    strength = written.prior.clusters[0].prior_strength
    assert fit.prior_strength == pytest.approx(strength, rel=0.01)


def test_the_prior_comes_back_from_its_file(batch, tmp_path):
    records, runs = batch
    written = write_prior(records, runs, tmp_path)
    again = read_prior(tmp_path / 'fleet.json')
    assert again.clusters[0].robots == written.prior.clusters[0].robots
    assert again.left_out == written.prior.left_out
    assert len(again.left_out) == _ROBOTS
    assert 'a robot that is left out: torque within' in str(written)
    assert 'no outliers, at 1 % false alarms' in str(written)


def test_a_table_of_a_batch_may_name_the_settings_for_recordings_of_the_next_robot(
    batch, tmp_path, fits
):
    records, runs = batch
    settings = write_prior(records, runs, tmp_path).folders[0] / 'settings.yaml'
    recording = fits.settings.parent / 'recording.npz'
    table = tmp_path / 'next.csv'
    table.write_text(f'robot,settings,recordings\nnext,{settings},{recording}\n')
    fit, = read_table(table)
    sources = FitSources.of(fit)
    assert sources.first.recording().channel('effort').values.any()
    assert len(sources.digest(fit)) == 64


def test_the_next_robot_is_fitted_with_the_distribution_of_its_fleet(batch, tmp_path, fits):
    records, runs = batch
    settings = write_prior(records, runs, tmp_path).folders[0] / 'settings.yaml'
    recording = fits.settings.parent / 'recording.npz'
    table = tmp_path / 'next.csv'
    table.write_text(f'robot,settings,recordings\nnext,{settings},{recording}\n')
    result = fit_table(table, tmp_path / 'next', pool=SerialPool())
    record, = result.records
    estimate = Estimate.load(result.runs / record.run / 'estimate.json')
    assert record.status is FitStatus.COMMITTABLE, record.reason
    assert estimate.settings['fleet'] == _ROBOTS
    # What is kept of a run makes it again.
    again = RunFolder.open(result.runs / record.run).setup().settings.fit
    assert again.fleet == load_without_recording(settings).settings.fit.fleet


def test_settings_of_a_cluster_that_is_no_more_are_taken_away(batch, tmp_path):
    records, runs = batch
    for number in (2, 3):
        (tmp_path / f'prior_{number}').mkdir()
        (tmp_path / f'prior_{number}' / 'settings.yaml').write_text('of a call before')
    write_prior(records, runs, tmp_path)
    assert [file.parent.name for file in tmp_path.glob('prior_*/settings.yaml')] == ['prior_1']


def test_runs_that_are_not_committable_or_of_another_robot_are_left_out_with_the_reason(
    batch, tmp_path
):
    records, runs = batch
    records[0] = records[0].model_copy(update={'status': FitStatus.NOT_COMMITTABLE})
    file = runs / 'arm_1' / 'monday' / 'estimate.json'
    data = json.loads(file.read_text())
    data['parameters']['names'][-1] = 'wrist_roll.other_friction'
    file.write_text(json.dumps(data))
    written = write_prior(records, runs, tmp_path)
    assert written.prior.clusters[0].robots == ('arm_2', 'arm_3', 'arm_4')
    reasons = dict(written.skipped)
    assert reasons['arm_0/monday'] == 'not committable'
    assert 'wrist_roll.other_friction' in reasons['arm_1/monday']


def test_too_few_robots_are_no_fleet(batch, tmp_path):
    records, runs = batch
    with pytest.raises(EstimationError, match='too few robots'):
        write_prior(records[:2], runs, tmp_path)


def test_without_a_committable_run_there_is_no_prior(batch, tmp_path):
    records, runs = batch
    failed = [each.model_copy(update={'status': FitStatus.FAILED}) for each in records]
    with pytest.raises(EstimationError, match='no run is committable'):
        write_prior(failed, runs, tmp_path)


@pytest.mark.parametrize('text', ['', '[]', '{"format": "another"}', '[' * 100_000,
    '{"format": "sysid_ros fleet prior 1", "clusters": [], "outliers": [], "left_out": [], '
    '"false_alarms": 1' + '0' * 400 + '}'])
def test_a_file_that_is_no_prior_is_refused(tmp_path, text):
    (tmp_path / 'fleet.json').write_text(text)
    with pytest.raises(EstimationError):
        read_prior(tmp_path / 'fleet.json')


def test_a_prior_of_other_coordinates_is_refused(batch, tmp_path):
    records, runs = batch
    write_prior(records, runs, tmp_path)
    prior = json.loads((tmp_path / 'fleet.json').read_text())
    prior['clusters'][0]['distribution']['mean'].pop()
    (tmp_path / 'fleet.json').write_text(json.dumps(prior))
    with pytest.raises(EstimationError, match='a distribution is not one of'):
        read_prior(tmp_path / 'fleet.json')
