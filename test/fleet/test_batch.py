"""A batch of simulated arms: bad inputs among good ones, repetition, interruption."""

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import yaml

from support.small_fleet import write_fleet, write_recording, write_robot
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet import fit as fleet_fit
from sysid_ros.fleet.batch import batch, make_pool
from sysid_ros.fleet.dask_pool import DaskPool
from sysid_ros.fleet.pool import SerialPool
from sysid_ros.fleet.process_pool import ProcessPool
from sysid_ros.fleet.record import FitStatus
from sysid_ros.fleet.results import estimates_of

#: Reasons of the bad inputs, by robot.
BAD = {
    'broken_bag': 'the bag is damaged',
    'missing_column': "there is no array 'tau'",
    'wrong_robot': 'elbow_of_another',
    'nowhere': 'there is no such file',
    'no_settings': 'the robot needs settings or a description',
}


def write_bad_inputs(folder):
    """Write recordings and settings that cannot be used; returns the lines of their table."""
    write_robot(folder / 'bad', 1)
    settings = yaml.safe_load((folder / 'bad' / 'settings.yaml').read_text())
    (folder / 'bad' / 'broken.mcap').touch()
    with np.load(folder / 'bad' / 'recording.npz') as recording:
        np.savez(folder / 'bad' / 'column.npz', t=recording['t'], q=recording['q'])
    joints = settings['recording']['joints']
    settings['recording']['joints'] = [*joints[:-1], 'elbow_of_another']
    (folder / 'bad' / 'wrong.yaml').write_text(yaml.safe_dump(settings), encoding='utf-8')
    return [
        'broken_bag,bad/settings.yaml,bad/broken.mcap',
        'missing_column,bad/settings.yaml,bad/column.npz',
        'wrong_robot,bad/wrong.yaml', 'nowhere,nowhere.yaml', 'no_settings,,']


@pytest.fixture(scope='module')
def fleet(tmp_path_factory):
    """Table of two arms and five bad inputs, and what became of it, one after the other."""
    folder = tmp_path_factory.mktemp('fleet')
    table = write_fleet(folder, (1, 2))
    lines = table.read_text().replace('settings\n', 'settings,recordings\n', 1).splitlines()
    table.write_text('\n'.join([*lines, *write_bad_inputs(folder)]) + '\n', encoding='utf-8')
    return table, batch(table, folder / 'serial', pool=SerialPool())


@pytest.fixture(scope='module')
def undisturbed(fleet, tmp_path_factory):
    """What one process makes of the table: sums of several threads end in other last bits."""
    return batch(fleet[0], tmp_path_factory.mktemp('one'), pool=make_pool('processes', 1))


@pytest.fixture
def copy(fleet, tmp_path):
    """The table and its results in another folder, which a test may change."""
    shutil.copytree(fleet[0].parent, tmp_path / 'fleet')
    return tmp_path / 'fleet' / 'robots.csv', tmp_path / 'fleet' / 'serial'


@pytest.fixture
def fitted(monkeypatch):
    """Arms that are fitted, which fails; bad inputs that get so far are not counted."""
    folders = []

    def refuse(_, folder, **options):
        if folder.parent.name.startswith('arm'):
            folders.append(folder.parent.name)
        raise ConfigurationError('was fitted again')

    monkeypatch.setattr(fleet_fit, 'fit_to_folder', refuse)
    return folders


def reproducible(result):
    """Rows of results without what is another one each time."""
    return [record.model_copy(update={'finished': '', 'seconds': None})
            for record in result.records]


@pytest.mark.slow
def test_bad_inputs_are_listed_with_their_reasons_and_the_rest_is_fitted(fleet):
    _, result = fleet
    good = result.records[:2]
    assert [record.robot for record in good] == ['arm_1', 'arm_2']
    assert [record.status for record in good] == [FitStatus.COMMITTABLE] * 2
    assert all(record.held_out and record.error < 0.3 * record.prior_error for record in good)
    failed = {record.robot: record.reason for record in result.failed}
    assert failed.keys() == BAD.keys()
    assert {robot for robot, reason in failed.items() if BAD[robot] not in reason} == set()
    assert '7 fits of 7 robots: 2 committable, 5 failed' in str(result)


def test_estimates_of_what_converged_are_found_by_their_records(fleet):
    _, result = fleet
    found = list(estimates_of(result.records, result.runs))
    assert [record.robot for record, _ in found] == ['arm_1', 'arm_2']
    assert all(estimate.status.ok for _, estimate in found)


def test_a_second_call_fits_nothing_again_and_tries_what_failed(copy, fleet, fitted):
    table, folder = copy
    result = batch(table, folder, pool=SerialPool())
    assert reproducible(result)[:2] == reproducible(fleet[1])[:2]
    assert [record.robot for record in result.failed] == list(BAD)
    assert not fitted
    # A row without settings is nothing to try.
    assert result.fitted == 4


def test_what_changed_or_is_damaged_is_fitted_again(copy, fitted):
    table, folder = copy
    settings = table.parent / 'arm_1' / 'settings.yaml'
    settings.write_text(settings.read_text() + '\nfit: {minimum_velocity: 0.01}\n')
    batch(table, folder, pool=SerialPool())
    assert fitted == ['arm_1']
    next((folder / 'runs' / 'arm_2').glob('*/estimate.json')).write_text('{}')
    batch(table, folder, pool=SerialPool())
    assert fitted == ['arm_1', 'arm_1', 'arm_2']


def test_another_recording_or_prior_is_fitted(copy, fitted, simulated_arm):
    table, folder = copy
    write_recording(table.parent / 'arm_1' / 'recording.npz', simulated_arm(9))
    description = table.parent / 'arm_2' / 'arm.urdf'
    description.write_text(description.read_text().replace('mass value="', 'mass value="1', 1))
    batch(table, folder, pool=SerialPool())
    assert fitted == ['arm_1', 'arm_2']


def test_a_fit_that_was_interrupted_is_fitted_again(copy, monkeypatch):
    table, folder = copy

    def interrupted(_, folder, **options):
        raise KeyboardInterrupt

    record = next((folder / 'runs' / 'arm_1').glob('*.json'))
    record.write_text(record.read_text().replace('"inputs_sha256": "', '"inputs_sha256": "0'))
    monkeypatch.setattr(fleet_fit, 'fit_to_folder', interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch(table, folder, pool=SerialPool())
    # Whatever the interrupted fit left, no record says that it is complete.
    assert not record.exists()


def test_an_error_that_nobody_foresaw_holds_up_no_other(copy, monkeypatch):
    table, folder = copy
    shutil.rmtree(folder)

    def broken(*_, **options):
        raise ZeroDivisionError('by zero')

    monkeypatch.setattr(fleet_fit, 'fit_to_folder', broken)
    result = batch(table, folder, pool=SerialPool())
    assert len(result.failed) == 7
    assert 'not foreseen: ZeroDivisionError: by zero' in result.records[0].reason


@pytest.mark.slow
@pytest.mark.parametrize('engine', ['processes', 'dask'])
def test_workers_that_are_killed_leave_the_same_table(fleet, undisturbed, tmp_path, engine):
    if engine == 'dask':
        pytest.importorskip('distributed', reason='Dask is not installed: pip install distributed')
    table, _ = fleet
    killed = []

    def kill_a_worker(_):
        if not killed:
            # Dask's workers are children of children.
            victim = multiprocessing.active_children()[0]
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    pool = make_pool(engine, 2)
    result = batch(table, tmp_path / 'parallel', pool=pool, show=kill_a_worker)
    assert killed
    assert reproducible(result) == reproducible(undisturbed)
    for ours, theirs in zip(result.files, undisturbed.files, strict=True):
        if ours.stem == 'parameters':
            assert ours.read_bytes() == theirs.read_bytes()


def test_the_command_lists_what_failed_and_ends_with_its_exit_code(copy, capsys, fitted):
    table, folder = copy
    code = main(['batch', str(table), '-o', str(folder), '--engine', 'processes', '--workers', '1'])
    printed = capsys.readouterr()
    assert code == 2
    assert 'failed: no_settings, line 8: ' in printed.out
    assert 'Written to' in printed.out
    assert '5 failed; the next call tries them again' in printed.err


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ({'engine': 'threads'}, 'there is no such engine'),
        ({'workers': 0}, 'there are no workers'),
        ({'engine': 'processes', 'scheduler': 'tcp://here:1'}, 'a running cluster is one of Dask'),
        ({'workers': 2, 'scheduler': 'tcp://here:1'}, 'a running cluster is one of Dask'),
    ],
)
def test_engines_and_options_that_do_not_go_together_are_refused(options, reason):
    with pytest.raises(ConfigurationError, match=reason):
        make_pool(**options)


def test_the_engine_is_the_one_that_is_asked_for():
    assert make_pool('processes', 3) == ProcessPool(3)
    assert make_pool(scheduler='tcp://here:1').scheduler == 'tcp://here:1'
    assert isinstance(make_pool('dask', 1), DaskPool)


def test_the_query_of_the_page_on_fleets_reads_the_tables(fleet):
    duckdb = pytest.importorskip('duckdb', reason='duckdb is not installed: pip install duckdb')
    page = (Path(__file__).parents[2] / 'docs' / 'how-to' / 'fleets.md').read_text()
    query = page.partition('duckdb.sql("""')[2].partition('"""')[0]
    rows = duckdb.sql(query.replace('fleet/robots', str(fleet[1].folder))).fetchall()
    assert {row[0] for row in rows} == {'arm_1', 'arm_2'}
    assert all(row[4] == 1 for row in rows)
