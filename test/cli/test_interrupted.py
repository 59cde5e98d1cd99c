"""Ctrl-C at any instant: exit code 130, one sentence, and nothing that is half written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.cli.exit_codes import ExitCode

FIT = """\
automatic: false
robot: {urdf: arm.urdf}
recording: {format: npz, file: arm.npz, joints: [JOINTS], time: {array: t},
            position: {array: q}, effort: {array: tau}}
processing: {parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}
"""
EXCITE = """\
robot: {urdf: arm.urdf}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
design: {starts: 1, iterations: 5, seed: 4}
"""
SECONDS = 120.0


@pytest.fixture
def folder(tmp_path):
    arm, t = SimulatedArm(1), np.arange(1600) / 100.0
    (tmp_path / 'arm.urdf').write_text(arm.description)
    np.savez(tmp_path / 'arm.npz', t=t, q=arm.motion(t)[0], tau=arm.torque(t))
    joints = ', '.join(arm.joint_names)
    (tmp_path / 'fit.yaml').write_text(FIT.replace('JOINTS', joints))
    (tmp_path / 'excite.yaml').write_text(EXCITE)
    return tmp_path


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def started(folder, words):
    return subprocess.Popen(
        [sys.executable, '-m', 'sysid_ros.cli.main', *words], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def interrupted(folder, words, line):
    """What a process says on standard error that gets Ctrl-C, with all its own, after a line."""
    process = started(folder, words)
    try:
        said = ''
        for text in process.stderr:
            said += text
            if line in text:
                os.killpg(process.pid, signal.SIGINT)
                break
        said += process.communicate(timeout=SECONDS)[1]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert line in said and process.returncode == ExitCode.INTERRUPTED, said
    assert said.splitlines()[-1].startswith(f'sysid {words[0]}: stopped'), said
    assert 'Traceback' not in said
    return said


@pytest.mark.parametrize('line', ['Loading the robot', 'Reading the', 'Fitting with'])
def test_a_fit_that_is_interrupted_leaves_nothing(folder, line):
    before = content(folder)
    interrupted(folder, ['fit', 'fit.yaml', '--holdout', '0.3', '-o', 'runs/one'], line)
    assert content(folder) == before
    assert {path.name for path in folder.iterdir()} == {path.name for path in before}


@pytest.mark.slow
def test_an_earlier_run_and_what_it_can_tell_stay_as_they_were(folder):
    words = ['fit', 'fit.yaml', '--holdout', '0.3', '-o', 'run']
    process = started(folder, words)
    process.communicate(timeout=SECONDS)
    assert process.returncode in (ExitCode.OK, ExitCode.NOT_COMMITTABLE)
    before = content(folder)
    interrupted(folder, words, 'Fitting with')
    interrupted(folder, ['validate', 'run', 'fit.yaml'], 'Loading the robot')
    assert content(folder) == before


def test_a_design_that_is_interrupted_keeps_the_motions_that_are_complete(folder):
    interrupted(
        folder, ['excite', 'excite.yaml', '-o', 'motions', '--count', '2'], 'Designing motion 1')
    left = {path.name for path in Path(folder, 'motions').iterdir()}
    # The first is complete or not there at all, as the instant falls.
    assert left in (set(), {
        'excitation_1.yaml', 'trajectory_1.yaml', 'motion_1.csv', 'summary_1.txt', 'preview_1.png',
        'report_1.html', 'report_1.json'})
