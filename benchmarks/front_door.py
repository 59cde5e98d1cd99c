"""How long a stranger takes: the five lines of the front page, and a tutorial from nothing.

The five lines are the Python of README, with arrays of an arm of seven joints whose masses, centres
of mass and friction its description does not know; they end with an exported URDF. They are timed
warm, in a process that ran them once.

``--hour`` begins with nothing: a clone of this repository, a new environment, ``pip install``,
``sysid compile``, and then the commands of the tutorial *your robot in an hour*, each a process of
its own, with a published arm and MuJoCo as the robot. It needs an index of packages. The time of
each step is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import tempfile
import time
import venv
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np
from _plants import published
from _seven_joints import arm

from support.simulated_arm import SimulatedArm
from support.tutorials import HOUR, PROJECT, README, commands_of, python_of

# Of the recording that the five lines are given.
SECONDS, RATE, SEED, NOISE = 20.0, 100.0, 0, 0.01
REPEATS, FIVE_LINES_BAR, HOUR_BAR = 3, 3.0, 60.0
ROBOT = 'UR5'


def five_lines(folder: Path) -> float:
    """Time in [s] of the front page's Python, the median of warm runs.

    Raises:
        SystemExit: The verdict is not positive, or no URDF was written.
    """
    plant = SimulatedArm(SEED, arm().description.xml.decode())
    t = np.arange(round(SECONDS * RATE)) / RATE
    torque = plant.torque(t)
    size = np.sqrt(np.mean(torque**2, axis=0))
    noise = NOISE * size * np.random.default_rng(SEED).normal(size=torque.shape)
    (folder / 'robot.urdf').write_text(plant.description, encoding='utf-8')
    (folder / 'five_lines.py').write_text(python_of(README), encoding='utf-8')
    spent = []
    with chdir(folder):
        for _ in range(1 + REPEATS):
            Path('robot_identified.urdf').unlink(missing_ok=True)
            names = {'t': t, 'q': plant.motion(t)[0], 'tau': torque + noise}
            said, start = StringIO(), time.perf_counter()
            with redirect_stdout(said):
                runpy.run_path('five_lines.py', init_globals=names)
            spent.append(time.perf_counter() - start)
            if 'VERDICT: committable' not in said.getvalue():
                raise SystemExit(f'the five lines end without a model:\n{said.getvalue()}')
            if not Path('robot_identified.urdf').exists():
                raise SystemExit('the five lines wrote no URDF')
    return statistics.median(spent[1:])


def _step(name: str, command: Sequence[str | Path], folder: Path) -> float:
    """Run one step of an hour; its time in [s], which is printed, too."""
    # As a stranger's terminal has it: nothing of this environment.
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith('PYTHON')}
    start = time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=surroundings, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    spent = time.perf_counter() - start
    print(f'{spent:7.1f} s  {name}', flush=True)
    if done.returncode:
        raise SystemExit(f'{name} ended with exit code {done.returncode}:\n{done.stdout}')
    return spent


def hour(folder: Path) -> float:
    """Time in [min] from nothing to an exported description of a published arm.

    Raises:
        SystemExit: A step failed.
    """
    robot = published(ROBOT)
    if robot is None:
        raise SystemExit("the robot is of example-robot-data: pip install 'sysid-ros[test]'")
    clone, environment, work = (folder / name for name in ('sysid_ros', 'venv', 'work'))
    work.mkdir()
    (work / 'robot.urdf').write_bytes(robot.read_bytes())
    spent = _step('git clone', ['git', 'clone', '--quiet', PROJECT, clone], folder)
    start = time.perf_counter()
    venv.create(environment, with_pip=True)
    spent += time.perf_counter() - start
    programs = environment / 'bin'
    spent += _step("pip install '.[demo]'", [programs / 'pip', 'install', '.[demo]'], clone)
    spent += _step('sysid compile', [programs / 'sysid', 'compile'], work)
    for words in commands_of(HOUR):
        spent += _step(f'sysid {" ".join(words)}', [programs / 'sysid', *words], work)
    return spent / 60.0


def figure(name: str, value: float, unit: str, bar: float) -> dict[str, Any]:
    """One figure of the table."""
    return {'name': name, 'value': round(value, 2), 'unit': unit, 'bar': f'<= {bar:g} {unit}',
            'ok': value <= bar}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hour', action='store_true', help='the tutorial from nothing, too')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = [figure('five lines, arrays of 7 joints to a URDF', five_lines(Path(name)), 's',
                          FIVE_LINES_BAR)]
        if options.hour:
            figures.append(figure(
                'your robot in an hour, from a clone', hour(Path(name)), 'min', HOUR_BAR))
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
