"""What jobs give, in a process of their own, is what the verbs of a terminal give."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from support.report_runs import finished_run
from sysid_ros.cli.main import main
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.excitation.files import load_excitation
from sysid_ros.studio.job_process import _WORKER
from sysid_ros.studio.jobs import (
    CheckJob,
    ComparisonJob,
    DescriptionJob,
    ExportJob,
    MotionJob,
    PageJob,
    PlanJob,
    SettingsJob,
    StandingBox,
    StudioFitJob,
)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A recording of an arm with its settings, and a fit of it."""
    made = tmp_path_factory.mktemp('studio') / 'data'
    shutil.copytree(finished_run().parent, made)
    return made


def done(job, folder, command='sysid'):
    """Lines that the process of a job prints, by their keys, and its exit code."""
    order = json.dumps({'kind': job.kind, 'fields': job.model_dump(mode='json'),
                        'command': command, 'parent': os.getpid()})
    process = subprocess.run(
        [sys.executable, '-P', str(_WORKER), order], cwd=folder, capture_output=True, text=True)
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    found = {key: value for line in lines for key, value in line.items()}
    return found, [line['stage'] for line in lines if 'stage' in line], process


def test_a_description_is_checked_and_its_base_parameters_are_counted(folder, capsys):
    found, stages, _ = done(DescriptionJob(source='arm.urdf'), folder)
    result = found['result']
    assert result['findings'] == [] and result['loadable'] and len(stages) == 3
    assert main(['model', str(folder / 'arm.urdf')]) == 0
    told = capsys.readouterr().out
    base = result['base']
    assert f'Base parameters: {base["inertial"]} inertial, {base["all"]} with' in told
    assert [body['name'] for body in result['bodies']] and result['scene']['solids']
    assert result['mass'] == pytest.approx(sum(body['mass'] for body in result['bodies']))


def test_a_description_that_cannot_be_loaded_is_told_with_all_its_faults(folder, tmp_path):
    (tmp_path / 'bad.urdf').write_text(
        '<robot name="bad"><link name="a"/><link name="a"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="gone"/><axis xyz="0 0 0"/></joint></robot>')
    found, *_ = done(DescriptionJob(source='bad.urdf'), tmp_path)
    result = found['result']
    assert not result['loadable']
    codes = [one['code'] for one in result['findings']]
    assert {'duplicate-link', 'unknown-child'} <= set(codes)
    assert result['findings'][0]['severity'] == 'FATAL'


def test_a_recording_is_judged_as_by_the_verb(folder, capsys):
    found, *_ = done(CheckJob(recording='settings.yaml'), folder)
    assert main(['check', str(folder / 'settings.yaml'), '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    lights = [{key: one[key] for key in ('name', 'light', 'text')}
              for one in found['result']['lights']]
    assert lights == told['lights']
    assert found['result']['usable'] and found['result']['guessed'] == []


def test_a_table_without_a_robot_is_refused_with_what_to_do(folder):
    found, _, process = done(CheckJob(recording='recording.npz'), folder)
    assert process.returncode == 1
    assert 'it is not said which robot' in found['error']['problem']
    assert 'sysid init' in found['error']['fix']


@pytest.mark.slow
def test_settings_are_written_and_what_nobody_can_know_is_asked(folder):
    bare = folder / 'bare'
    bare.mkdir()
    shutil.copyfile(folder / 'arm.urdf', bare / 'arm.urdf')
    lines = (folder / 'recording.npz')
    shutil.copyfile(lines, bare / 'taken.npz')
    job = SettingsJob(recording='taken.npz', robot='arm.urdf')
    found, *_ = done(job, bare)
    answers = {}
    for _ in range(5):
        if 'result' in found:
            break
        questions = found['error']['questions']
        assert questions and all(one['text'] and one['option'] for one in questions)
        answers |= {one['option']: one['example'] for one in questions}
        found, *_ = done(SettingsJob(
            recording='taken.npz', robot='arm.urdf', answers=answers), bare)
    assert found['result']['settings'] == 'taken.yaml'
    assert (bare / 'taken.yaml').read_text().startswith('#')


@pytest.mark.slow
def test_a_plan_asks_what_nobody_can_know_and_a_motion_is_designed_by_it(folder):
    plain = folder / 'plain'
    plain.mkdir()
    (plain / 'arm.urdf').write_text(arm_urdf())
    found, *_ = done(PlanJob(robot='arm.urdf'), plain)
    answers = {one['option']: one['example'] for one in found['error']['questions']}
    assert 'floor' in answers and not list(plain.glob('*.yaml'))
    wall = StandingBox(name='wall', lower=(0.9, -2.0, -2.0), upper=(1.2, 2.0, 2.0))
    # A box says what is around it, so nobody is asked for the floor.
    del answers['floor']
    found, *_ = done(PlanJob(robot='arm.urdf', boxes=(wall,), answers=answers), plain)
    assert found['result']['plan'] == 'arm_excite.yaml' and found['result']['findings']
    plan = plain / 'arm_excite.yaml'
    assert 'name: wall' in plan.read_text()
    # Quickly: it is not the search that is tried.
    plan.write_text(plan.read_text().replace('duration: 10', 'duration: 4') + (
        'design: {starts: 1, iterations: 4, seed: 4}\n'))
    job = MotionJob(plan='arm_excite.yaml', speed=0.5, output='motions/arm_excite')
    found, stages, _ = done(job, plain, 'sysid excite arm_excite.yaml')
    assert found['result']['motion'] == 'motions/arm_excite' and len(stages) == 2
    motion = load_excitation(plain / 'motions/arm_excite/excitation.yaml')
    assert found['result']['duration'] == pytest.approx(motion.duration)
    assert motion.speed == 0.5
    report = json.loads((plain / 'motions/arm_excite/report.json').read_text())
    assert 'sysid excite arm_excite.yaml' in json.dumps(report)
    # Of no box nothing is written.
    flat = StandingBox(name='flat', lower=(0.9, 2.0, 2.0), upper=(1.2, 2.0, 2.0))
    found, *_ = done(PlanJob(robot='arm.urdf', boxes=(flat,), answers=answers), plain)
    assert 'do not make a box' in found['error']['problem']
    assert not (plain / 'arm_excite-2.yaml').exists()


@pytest.mark.slow
def test_a_fit_leaves_the_run_that_the_verb_leaves(folder):
    job = StudioFitJob(
        recordings=('settings.yaml',), estimator='entropic', holdout=0.25, output='runs/again')
    found, stages, _ = done(job, folder, 'sysid fit settings.yaml')
    assert found['result']['verdict']['committable'] and found['result']['converged']
    assert stages[0] == 'Loading the robot' and len(stages) >= 4
    ours, own = (
        Estimate.load(folder / name / 'estimate.json') for name in ('runs/again', 'fit'))
    assert ours.parameters.names == own.parameters.names
    # A BLAS with another number of threads differs in last bits.
    np.testing.assert_allclose(
        ours.parameters.values, own.parameters.values, rtol=1e-9, atol=1e-12)
    report = json.loads((folder / 'runs/again/report.json').read_text())
    assert 'sysid fit settings.yaml' in json.dumps(report)


@pytest.mark.slow
def test_runs_are_compared_exported_and_their_page_is_written_anew(folder):
    shutil.copytree(folder / 'fit', folder / 'fit2')
    found, *_ = done(ComparisonJob(runs=('fit', 'fit2')), folder)
    assert 'agree within their intervals' in found['result']['text']
    assert (folder / 'comparison.html').is_file() and (folder / 'comparison.json').is_file()
    found, *_ = done(ExportJob(run='fit', formats=('description', 'yaml', 'mjcf')), folder)
    for path in found['result']['files'].values():
        assert (folder / path).is_file()
    before = (folder / 'fit2/report.html').read_bytes()
    (folder / 'fit2/report.html').unlink()
    done(PageJob(run='fit2'), folder)
    assert (folder / 'fit2/report.html').read_bytes() == before


@pytest.mark.slow
def test_nothing_is_imported_from_the_folder(folder):
    (folder / 'numpy.py').write_text('raise SystemExit("a stranger\'s module ran")')
    found, _, process = done(CheckJob(recording='settings.yaml'), folder)
    assert 'result' in found, process.stderr
    (folder / 'numpy.py').unlink()
