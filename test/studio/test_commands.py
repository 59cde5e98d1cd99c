"""The command lines that pages show are ones that the terminal takes."""

import shlex
from pathlib import Path

import pytest

from sysid_ros.cli.main import named_verbs, parser
from sysid_ros.studio.commands import command_of
from sysid_ros.studio.jobs import (
    EXPORT_FORMATS,
    KINDS,
    CheckJob,
    ComparisonJob,
    DescriptionJob,
    EstimatorsJob,
    ExportJob,
    MotionJob,
    PageJob,
    PlanJob,
    SettingsJob,
    StandingBox,
    StudioFitJob,
)

JOBS = [
    DescriptionJob(source='arm.urdf'), CheckJob(recording='a b.csv', robot='arm.urdf'),
    CheckJob(recording='mine.yaml'),
    SettingsJob(recording='bag', robot='arm.urdf', answers={'effort-unit': 'N·m'}),
    PlanJob(robot='arm.urdf', srdf='arm.srdf', answers={'floor': '-0.05'}, boxes=(
        StandingBox(name='a wall', lower=(-1.0, -1.0, -1.0), upper=(0.5, 1.0, 1e-3)),)),
    MotionJob(plan='arm_excite.yaml', output='motions/arm_excite'),
    MotionJob(plan='arm_excite.yaml', speed=0.5, output='motions/arm_excite'),
    StudioFitJob(recordings=('a.yaml', 'b.yaml'), output='runs/a+1', holdout=0.25),
    StudioFitJob(recordings=('a.yaml',), judged_by='validate', validation='b.yaml', output='r'),
    StudioFitJob(recordings=('a.yaml',), judged_by='folds', estimator='all', output='r'),
    StudioFitJob(recordings=('a.yaml',), judged_by='nothing', output='r'),
    ComparisonJob(runs=('runs/1', 'runs/2')), ExportJob(run='runs/1', formats=EXPORT_FORMATS),
    PageJob(run='runs/1')]


@pytest.mark.parametrize('job', JOBS, ids=lambda job: job.kind)
def test_the_terminal_takes_it(job, tmp_path):
    program, *words = shlex.split(command_of(job, tmp_path))
    assert program == 'sysid'
    _, unknown = parser(named_verbs(words)).parse_known_args(words)
    assert not unknown


def test_every_kind_of_job_was_tried_but_the_one_whose_verb_is_help():
    assert {job.kind for job in JOBS} == KINDS.keys() - {'estimators'}
    assert command_of(EstimatorsJob(version='0'), Path()) == 'sysid fit --help'


def test_a_box_is_the_one_that_was_typed():
    job = PlanJob(robot='arm.urdf', answers={'floor': 'none'}, boxes=(
        StandingBox(name='a wall', lower=(-1.0, -1.0, -1.0), upper=(0.5, 1.0, 1e-3)),))
    _, *words = shlex.split(command_of(job, Path()))
    options = parser(named_verbs(words)).parse_args(words)
    assert options.box == ['a wall=-1,-1,-1,0.5,1,0.001'] and options.floor == 'none'


def test_a_run_of_an_mjcf_is_exported_as_one(tmp_path):
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run' / 'prior.xml').write_text('<mujoco/>')
    command = command_of(ExportJob(run='run', formats=('mjcf', 'yaml')), tmp_path)
    assert command == ('sysid export run -o exports/run/identified.xml '
                       '--yaml exports/run/identified.yaml')
