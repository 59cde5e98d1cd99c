"""From a bag to a URDF: time and memory of ``sysid fit``, a process of its own.

Seven joints at 1 kHz in an MCAP bag with checksums, simulated with masses, centres of mass and
friction that the description does not know; the last fifth of the recording is kept for the
verdict. A result counts when the verdict is positive, and Pinocchio, loading the URDF that was
written, computes the torques of the estimate. It runs on two processors. The bag of 2 GB takes some
minutes and as much room on the disk; ``--short`` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np
import pinocchio as pin
from _seven_joints import arm

from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.identification import Identification
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.recording.bag.write import write_bag_in_blocks

RATE, BLOCK, SEED, HOLDOUT = 1000.0, 60.0, 0, 0.2
SECONDS, TIME_BAR, MEMORY_BAR = 60.0, 2.5, 1.0
GROWTH = 10
LONG_GIGABYTES, LONG_TIME_BAR, BYTES_PER_SECOND = 2.0, 45.0, 348_000
PROCESSORS, REPEATS = 2, 5
# Torques of the URDF and of the estimate agree to this part; the file has decimal numbers.
AGREEMENT = 1e-9
# Resolution of the encoders in [bit] and torque noise in parts of the torque.
BITS, NOISE = 20, 0.01


SETTINGS = """\
automatic: false
robot:
  urdf: arm.urdf
recording:
  format: rosbag
  file: {bag}
  joints: [{joints}]
processing:
  position_filter: {{cutoff: 30.0}}
  parallel_filter: {{cutoff: 10.0, decimate_to: 25.0}}
fit:
  minimum_velocity: 0.02
"""


@dataclass(frozen=True)
class Spent:
    """Wall and processor time in [s] and peak resident memory in [GB] of a process."""

    wall: float
    busy: float
    memory: float


def simulated(plant: Any, seconds: float) -> Iterator[tuple[np.ndarray, ...]]:
    """Time, encoders, velocities and torques, a block at a time."""
    random = np.random.default_rng(SEED)
    step = 2 * np.pi / 2**BITS
    size = np.sqrt(np.mean(plant.torque(np.arange(0.0, 60.0, 0.1)) ** 2, axis=0))
    for first in np.arange(0.0, seconds, BLOCK):
        t = first + np.arange(round(min(BLOCK, seconds - first) * RATE)) / RATE
        q, v, _ = plant.motion(t)
        tau = plant.torque(t) + NOISE * size * random.normal(size=q.shape)
        yield t, np.round(q / step) * step, v, tau


def write_recording(folder: Path, plant: Any, seconds: float) -> Path:
    """A bag, and its settings file."""
    name = f'bag_{seconds:.0f}'
    write_bag_in_blocks(folder / name, plant.joint_names, simulated(plant, seconds), start=1.7e9)
    settings = folder / f'{name}.yaml'
    joints = ', '.join(plant.joint_names)
    settings.write_text(SETTINGS.format(bag=name, joints=joints), encoding='utf-8')
    return settings


def run_folder(settings: Path) -> Path:
    """Where the fit of a settings file is written."""
    return settings.with_name(f'{settings.stem}_run')


def fit(settings: Path) -> Spent:
    """Run ``sysid fit`` as a process of its own."""
    command = [
        sys.executable, '-m', 'sysid_ros.cli.main', 'fit', str(settings), '--holdout',
        str(HOLDOUT), '-o', str(run_folder(settings)),
    ]
    # Modules are compiled to byte code once, as they are wherever the package is installed.
    surroundings = os.environ | {'PYTHONPYCACHEPREFIX': str(settings.parent / 'byte_code')}
    surroundings |= {f'{name}_NUM_THREADS': '1' for name in ('OMP', 'OPENBLAS', 'MKL', 'NUMBA')}
    surroundings.pop('PYTHONDONTWRITEBYTECODE', None)
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f'sysid fit ended with exit code {process.returncode}')
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9)


def check_urdf(settings: Path) -> float:
    """Largest disagreement between the URDF's torques and the estimate's, in parts."""
    estimate = Estimate.load(run_folder(settings) / 'estimate.json')
    robot = Identification.load(settings).model().robot
    values = np.concatenate([estimate.parameters.inertial(body) for body in robot.body_names])
    q, v, a = np.random.default_rng(SEED).normal(size=(3, 100, len(robot.joint_names)))
    model = pin.buildModelFromUrdf(str(run_folder(settings) / 'identified.urdf'))
    data = model.createData()
    reloaded = np.stack([
        pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
    expected = inertial_regressor(robot, q, v, a) @ values
    return float(np.abs(reloaded - expected).max() / np.abs(expected).max())


def measure(folder: Path, plant: Any, seconds: float, repeats: int = 1) -> Spent:
    """Make a recording, fit it, check the result, and remove the bag.

    What is repeated was run once before; the median is given.
    """
    settings = write_recording(folder, plant, seconds)
    if repeats > 1:
        fit(settings)
    runs = [fit(settings) for _ in range(repeats)]
    spent = Spent(
        statistics.median(run.wall for run in runs), statistics.median(run.busy for run in runs),
        max(run.memory for run in runs),
    )
    size = sum(file.stat().st_size for file in settings.with_suffix('').iterdir()) / 1e9
    disagreement = check_urdf(settings)
    shutil.rmtree(settings.with_suffix(''))
    print(f'{seconds:.0f} s, {size:.3f} GB: {spent.wall:.2f} s ({spent.busy:.2f} s of processor), '
          f'{spent.memory:.3f} GB; URDF and estimate differ by {disagreement:.1e}', flush=True)
    if disagreement > AGREEMENT:
        raise SystemExit('the URDF is not what was estimated')
    return spent


def measure_long(folder: Path, plant: Any) -> Spent:
    """Fit a bag of 2 GB."""
    needed = 2.5 * LONG_GIGABYTES * 1e9
    if shutil.disk_usage(folder).free < needed:
        raise SystemExit(f'{folder} needs {needed / 1e9:g} GB of free space')
    seconds = BLOCK * np.ceil(LONG_GIGABYTES * 1e9 / BYTES_PER_SECOND / BLOCK)
    return measure(folder, plant, float(seconds))


def figure(
    name: str, value: float, unit: str, bar: float | None, reference: str | None = None
) -> dict[str, Any]:
    """One figure of the table."""
    return {
        'name': name, 'value': round(value, 3), 'unit': unit, 'reference': reference,
        'ratio': None, 'bar': None if bar is None else f'<= {bar:.4g} {unit}',
        'ok': bar is None or value <= bar,
    }


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--short', action='store_true', help='leave out the bag of 2 GB')
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    description = arm().description.xml.decode()
    plant = SimulatedArm(SEED, description)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'arm.urdf').write_text(description, encoding='utf-8')
        short = measure(folder, plant, SECONDS, repeats=REPEATS)
        longer = measure(folder, plant, GROWTH * SECONDS)
        figures = [
            figure('bag of 60 s to URDF, whole process', short.wall, 's', TIME_BAR,
                   f'{short.busy:.2f} s of processor'),
            figure('its peak memory', short.memory, 'GB', MEMORY_BAR),
            figure(f'time for a bag {GROWTH} times as long', longer.wall, 's', GROWTH * short.wall,
                   f'{short.wall:.2f} s for 60 s'),
            figure('its peak memory', longer.memory, 'GB', MEMORY_BAR),
        ]
        if not options.short:
            long = measure_long(folder, plant)
            figures += [
                figure('bag of 2 GB, peak memory', long.memory, 'GB', LONG_GIGABYTES),
                figure('its time', long.wall, 's', LONG_TIME_BAR,
                       f'{long.busy:.1f} s of processor; {longer.wall:.1f} s for 0.2 GB'),
            ]
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
