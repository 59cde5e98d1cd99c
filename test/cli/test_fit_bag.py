"""``sysid fit`` on bags: alone with settings, or in the folder that the node leaves behind."""

import json

import numpy as np
import pytest
import yaml

from support.two_joint_robot import write_recording
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.runs.sources import (
    load_source,
    load_without_recording,
    write_recording_settings,
)

SETTINGS = """\
robot: {urdf: robot.urdf}
processing: {differentiation: measured, position_filter: {cutoff: 10.0}}
fit: {estimator: entropic}
"""
COMPLETE = SETTINGS + 'recording: {format: rosbag, file: bag, joints: [swing, slide]}\n'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A bag, and settings with and without it."""
    folder = tmp_path_factory.mktemp('bags')
    for seed, (table, bag) in enumerate((('table', 'bag'), ('another', 'another_bag')), start=1):
        write_recording(folder, table, seed)
        columns = np.loadtxt(folder / f'{table}.csv', delimiter=',', skiprows=1).T
        t, q1, q2, v1, v2, _, _, f1, f2 = columns
        write_bag(folder / bag, t, ['swing', 'slide'], *(
            np.stack(pair, axis=1) for pair in ((q1, q2), (v1, v2), (f1, f2))))
    (folder / 'robot_only.yaml').write_text(SETTINGS)
    (folder / 'complete.yaml').write_text(COMPLETE)
    return folder


def fit(capsys, *arguments):
    code = main(['fit', *map(str, arguments)])
    return code, capsys.readouterr().err


def estimate(run):
    return json.loads((run / 'estimate.json').read_text())


@pytest.fixture(scope='module')
def reference(folder):
    run = folder / 'reference'
    assert main(['fit', str(folder / 'complete.yaml'), '--holdout', '0.3', '-o', str(run)]) == 0
    return estimate(run)


@pytest.mark.parametrize('bag', ['bag', 'bag/bag.mcap'])
def test_a_bag_with_settings_is_fitted_like_a_settings_file_that_names_it(
    folder, reference, tmp_path, capsys, bag
):
    code, _ = fit(capsys, folder / bag, '--settings', folder / 'robot_only.yaml',
                  '--holdout', '0.3', '-o', tmp_path / 'run')
    assert code == ExitCode.OK
    assert estimate(tmp_path / 'run')['parameters'] == reference['parameters']


def test_the_folder_of_a_recording_says_itself_how_it_is_fitted(
    folder, reference, tmp_path, capsys
):
    recording = tmp_path / 'data' / 'swinging'
    recording.mkdir(parents=True)
    for file in (folder / 'bag').iterdir():
        (recording / file.name).write_bytes(file.read_bytes())
    setup = FitSetup.of(load_without_recording(folder / 'robot_only.yaml'))
    write_recording_settings(recording, setup, {'joints': ['swing', 'slide']})
    moved = tmp_path / 'elsewhere'
    recording.rename(moved)
    assert fit(capsys, moved, '--holdout', '0.3', '-o', tmp_path / 'run')[0] == ExitCode.OK
    assert estimate(tmp_path / 'run')['parameters'] == reference['parameters']
    # The run, too, can be repeated from what is in its folder.
    assert load_source(tmp_path / 'run').recording().sha256


def test_76_bags_in_which_damage_would_go_unseen_are_named_in_the_verdict(
    folder, tmp_path, capsys
):
    for table in ('table', 'another'):
        columns = np.loadtxt(folder / f'{table}.csv', delimiter=',', skiprows=1).T
        t, q1, q2, v1, v2, _, _, f1, f2 = columns
        write_bag(tmp_path / table, t, ['swing', 'slide'], *(
            np.stack(pair, axis=1) for pair in ((q1, q2), (v1, v2), (f1, f2))), storage='sqlite3')
    settings = folder / 'robot_only.yaml'
    said = []
    for fitted, judged in (
        (tmp_path / 'table', folder / 'another_bag'), (folder / 'bag', tmp_path / 'another'),
        (folder / 'bag', folder / 'another_bag'),
    ):
        run = tmp_path / f'run_{len(said)}'
        fit(capsys, fitted, '--settings', settings, '--validate', judged, '-o', run)
        remarks = json.loads((run / 'verdict.json').read_text())['remarks']
        said.append([remark for remark in remarks if 'no checksums in' in remark])
    training, validation, neither = said
    assert any('table.db3' in remark for remark in training)
    assert any(
        'it was judged by: no checksums in another.db3' in remark for remark in validation)
    assert neither == []


def test_what_settings_say_of_a_bag_holds_for_another_bag(folder, tmp_path):
    section = {'rename': {'joint_a': 'swing'}, 'topic': '/states'}
    data = yaml.safe_load(SETTINGS) | {'recording': section}
    settings = tmp_path / 'settings.yaml'
    settings.write_text(yaml.safe_dump(data))
    found = load_source(folder / 'bag', settings).settings.recording
    assert (found.topic, found.rename) == ('/states', {'joint_a': 'swing'})
    assert found.file == str(folder / 'bag')


def test_what_settings_say_of_a_table_is_not_said_of_a_bag(folder):
    found = load_source(folder / 'bag', folder / 'table.yaml').settings
    assert (found.recording.format, found.recording.time) == ('rosbag', None)


def test_a_bag_alone_is_refused_with_what_to_add(folder, capsys):
    code, error = fit(capsys, folder / 'bag')
    assert code == ExitCode.BAD_INPUT
    assert 'which robot' in error
    assert '--settings FILE' in error


def test_48_a_folder_without_a_bag_is_refused(tmp_path, capsys):
    code, error = fit(capsys, tmp_path)
    assert code == ExitCode.BAD_INPUT
    assert 'there is no bag' in error
    code, error = fit(capsys, tmp_path / 'nothing')
    assert code == ExitCode.BAD_INPUT
    assert 'nothing' in error


def test_48_a_bag_of_another_robot_is_refused_and_its_joints_are_listed(
    folder, tmp_path, capsys
):
    t = np.arange(500) * 0.01
    q = np.sin(t)[:, None] * [1.0, 2.0]
    write_bag(tmp_path / 'bag', t, ['hip', 'knee'], q, q, q)
    code, error = fit(capsys, tmp_path / 'bag', '--settings', folder / 'robot_only.yaml',
                      '-o', tmp_path / 'run')
    assert code == ExitCode.BAD_INPUT
    assert 'hip' in error
    assert 'swing' in error


def test_another_bag_can_be_judged_by(folder, tmp_path, capsys):
    code, _ = fit(capsys, folder / 'bag', '--settings', folder / 'robot_only.yaml',
                  '--validate', folder / 'another_bag', '-o', tmp_path / 'run')
    assert code in (ExitCode.OK, ExitCode.NOT_COMMITTABLE)
    assert (tmp_path / 'run' / 'torque_held_out.png').is_file()


def evaluation(run):
    return json.loads((run / 'evaluation.json').read_text())


@pytest.mark.slow
def test_another_table_by_itself_is_read_as_the_first(folder, tmp_path, capsys):
    ways = ('another.csv', 'another.yaml')
    for way in ways:
        judged = folder / way
        code, _ = fit(capsys, folder / 'table.yaml', '--validate', judged, '-o', tmp_path / way)
        assert code in (ExitCode.OK, ExitCode.NOT_COMMITTABLE)
        # It can be judged by it later, too, and fitted together with it.
        assert main(['validate', str(tmp_path / way), str(judged)]) == code
        fit(capsys, folder / 'table.yaml', judged, '--holdout', '0.3',
            '-o', tmp_path / f'with_{way}')
    by_table, by_settings = (evaluation(tmp_path / way)['held_out'] for way in ways)
    assert by_table == by_settings
    alone, described = (estimate(tmp_path / f'with_{way}')['parameters'] for way in ways)
    assert alone == described != estimate(tmp_path / ways[0])['parameters']


@pytest.mark.slow
def test_another_bag_by_itself_is_read_as_the_first(folder, tmp_path, capsys):
    code, _ = fit(capsys, folder / 'complete.yaml', '--validate', folder / 'another_bag',
                  '-o', tmp_path / 'run')
    assert code in (ExitCode.OK, ExitCode.NOT_COMMITTABLE)
    fit(capsys, folder / 'bag', '--settings', folder / 'robot_only.yaml',
        '--validate', folder / 'another_bag', '-o', tmp_path / 'by_settings')
    # Without joints by name the order of the bag's joints is another one, and rounding differs.
    assert evaluation(tmp_path / 'run')['held_out']['relative_error'] == pytest.approx(
        evaluation(tmp_path / 'by_settings')['held_out']['relative_error'], rel=1e-6)


def test_a_table_is_not_read_as_a_bag_and_the_fix_says_what_to_do(folder, tmp_path, capsys):
    code, text = fit(capsys, folder / 'complete.yaml', '--validate', folder / 'another.csv',
                     '-o', tmp_path / 'run')
    assert code == ExitCode.BAD_INPUT
    assert 'it is not said how to read it' in text and 'sysid init ROBOT.urdf' in text


def test_a_table_whose_stamps_are_elsewhere_is_not_read_with_the_stamps_of_the_first(
    folder, tmp_path, capsys
):
    data = yaml.safe_load((folder / 'table.yaml').read_text())
    data['recording']['time'] = {'file': 'table.csv', 'column': 't'}
    (folder / 'apart.yaml').write_text(yaml.safe_dump(data))
    code, text = fit(capsys, folder / 'apart.yaml', '--validate', folder / 'another.csv',
                     '-o', tmp_path / 'run')
    assert code == ExitCode.BAD_INPUT
    assert 'a file of its own for time' in text
    code, text = fit(capsys, folder / 'table.yaml', '--validate', folder / 'robot.urdf',
                     '-o', tmp_path / 'run')
    assert code == ExitCode.BAD_INPUT
    assert 'a robot description' in text


def test_the_fitted_bag_itself_is_no_other(folder, tmp_path, capsys):
    code, text = fit(capsys, folder / 'bag', '--settings', folder / 'robot_only.yaml',
                     '--validate', folder / 'bag', '-o', tmp_path / 'run')
    assert code == ExitCode.BAD_INPUT
    assert 'holds samples that are fitted' in text
    assert '--holdout' in text
