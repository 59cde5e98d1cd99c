"""After a warm-up nothing is left to compile or to load for what it was made for."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from support import two_joint_robot
from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.runs.job import WarmUpJob
from sysid_ros.runs.warm_up import load_for_fits
from sysid_ros.runs.workloads import recorded

RATE, ROWS = 200.0, 2400
TRAJECTORY = 'fit: {trajectory: {step: 0.005}, collocation: {estimate_noise: true}}'
# Loads, works, and prints the compiled functions that each of the two loaded or compiled.
PROGRAM = """
import json, sys
from pathlib import Path
from numba.core.caching import Cache

used, load = [], Cache.load_overload

def noted(self, *arguments):
    used.append(self._name.split(' at ')[0])
    return load(self, *arguments)

Cache.load_overload = noted

from sysid_ros.runs.fit_job import fit_job
from sysid_ros.runs.job import FitJob, WarmUpJob
from sysid_ros.runs.warm_up import load_for_fits, load_for_live_data
from sysid_ros.runs.workloads import follow_small_robot, identify_small_payload

def main():
    folder, estimator, closed = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == 'True'
    load_for_fits(WarmUpJob(estimator=estimator, closed=closed))
    first, used[:] = list(used), []
    fit_job(FitJob(
        recording=folder / 'motion', settings=folder / 'settings.yaml', folder=folder / 'run',
        estimator=estimator), lambda stage, progress: None)
    then, used[:] = list(used), []
    load_for_live_data()
    live, used[:] = list(used), []
    for task in (follow_small_robot, identify_small_payload):
        (folder / task.__name__).mkdir()
        task(folder / task.__name__)
    print(json.dumps([first, then, live, list(used)]))

if __name__ == '__main__':
    main()
"""


def two_joints(folder):
    """A robot that is not that of the warm-up, and settings that leave all to the data."""
    (folder / 'arm.urdf').write_text(two_joint_robot.URDF)
    q, v, tau = two_joint_robot.motion(folder / 'arm.urdf', RATE)
    write_bag(folder / 'motion', np.arange(ROWS) / RATE, two_joint_robot.JOINTS,
              *(rows[:ROWS] for rows in (q, v, tau)), start=1.7e9)
    (folder / 'settings.yaml').write_text('robot: {urdf: arm.urdf}\n')


def four_bar(folder):
    """A closed chain with most of its settings left to the data."""
    recorded(folder, 'four_bar')
    (folder / 'settings.yaml').write_text(
        'robot: {urdf: four_bar.urdf, loops: loops.yaml, gravity: [0, -9.80665, 0]}\n'
        'recording: {joints: [crank_joint]}\n')


def pendulum(folder):
    """A double pendulum with smooth friction."""
    recorded(folder, 'pendulum', seconds=4.0)
    text = (folder / 'settings.yaml').read_text()
    (folder / 'settings.yaml').write_text(text.replace('fit: {}', TRAJECTORY))


@pytest.mark.slow
@pytest.mark.parametrize(('estimator', 'robot'), [
    ('entropic', two_joints), ('irls_lmi', two_joints), ('entropic', four_bar),
    ('collocation', pendulum),
])
def test_the_first_fit_after_a_warm_up_loads_no_compiled_function(tmp_path, estimator, robot):
    robot(tmp_path)
    found = subprocess.run(
        [sys.executable, '-c', PROGRAM, str(tmp_path), estimator, str(robot is four_bar)],
        capture_output=True, text=True, check=False,
        env=dict(os.environ, OPENBLAS_NUM_THREADS='1'))
    assert found.returncode == 0, found.stderr
    first, then, live, again = json.loads(found.stdout.splitlines()[-1])
    assert first
    assert then == []
    # What a fit calls is loaded: this is what only joint states that come in need.
    assert live
    assert again == []


def test_an_estimator_that_does_not_exist_is_refused():
    with pytest.raises(ConfigurationError, match='entropc'):
        load_for_fits(WarmUpJob(estimator='entropc', closed=False))
