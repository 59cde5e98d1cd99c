"""Masses and friction of a leg with three closed loops, on a factor graph.

Six motors and nine passive joints; encoders at the motors with noise of 1 mrad, and their torques
known to 1 %. The motion is a sum of sines and its torques are those that the leg needs for it, with
random errors of both. Masses come with the shapes of their bodies.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import runpy
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from sysid_ros.dynamics.terms import Armature, ViscousFriction
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.estimation.trajectory.graph.factors import Prior, Trapezoidal
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.identification import identify
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.robot_mechanism import RobotMechanism, RobotReading
from sysid_ros.estimation.trajectory.graph.sought import sought_parameters
from sysid_ros.estimation.trajectory.sensors import Encoder

PROJECT = Path(__file__).resolve().parents[1]
robots = SimpleNamespace(**runpy.run_path(str(PROJECT / 'test' / 'closed_robots.py')))
STEP, COUNT, ENCODER, TORQUE = 4e-3, 2001, 1e-3, 0.01
# The motion of the tests, that much faster.
FASTER = 1.6
LINKS = ('thigh', 'shin', 'foot')
SEEDS, ERROR, COVERAGE = 6, 0.02, 0.85


def main() -> None:
    """Print the table and the figures."""
    mechanism = RobotMechanism(TorqueModel(robots.leg(), (ViscousFriction(), Armature())))
    parameters, joints = mechanism.parameters, mechanism.coordinates
    names = [f'{link}.mass' for link in LINKS] + [f'{j}.viscous_friction' for j in joints]
    truth = np.array([parameters[name] for name in names])
    q, v, a = robots.smooth_motion(mechanism.model.robot, FASTER * STEP * np.arange(COUNT))
    motion = q, FASTER * v, FASTER**2 * a
    torque = mechanism.model.torque(parameters.values, *motion)
    spread = TORQUE * np.sqrt(np.mean(torque**2, axis=0))
    errors, inside, times = [], [], []
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS):
        rng = np.random.default_rng(seed)
        sought = sought_parameters(mechanism, names, shapes_held=True)
        sought = sought._replace(start=truth * rng.uniform(0.8, 1.2, len(truth)))
        noise = rng.normal(size=(2, *torque.shape))
        measured = torque + spread * noise[0]
        graph = FactorGraph(mechanism, STEP, COUNT, [
            Trapezoidal('q', 1e-6), Trapezoidal('v', 1e-5), Dynamics(1e-2, torque=None),
            Prior('torque', measured, spread, title='torque'),
            RobotReading(Encoder.of(joints), motion[0] + ENCODER * noise[1], ENCODER)], sought)
        begin = time.perf_counter()
        found = identify(graph, {
            **dict(zip('qva', motion, strict=True)), 'torque': measured})
        times.append(time.perf_counter() - begin)
        away = found.values - truth
        errors.append(away / truth)
        inside.append(np.abs(away) <= 1.96 * found.standard_deviation)
        print(f'{times[-1]:.0f} s, {len(found.solution.iterations)} iterations: '
              f'{100 * np.abs(errors[-1]).max():.2f} %', file=sys.stderr)
    worst = np.abs(errors).max(axis=0)
    for name, value, largest, covered in zip(
        names, truth, worst, np.mean(inside, axis=0), strict=True
    ):
        print(f'{name:28s} {value:6.3f}  largest error {100 * largest:.2f} %, '
              f'intervals hold {100 * covered:.0f} %')
    print(f'{np.median(times):.0f} s a fit of {COUNT} steps')
    share = float(np.mean(inside))
    print(json.dumps([
        {'name': f'closed leg on a graph, largest error of {len(names)} parameters in {len(times)}',
         'value': float(worst.max()), 'unit': '', 'bar': f'<= {ERROR:g}',
         'ok': bool(worst.max() <= ERROR)},
        {'name': 'closed leg on a graph, coverage of 95 % intervals', 'value': share, 'unit': '',
         'bar': f'>= {COVERAGE:g}', 'ok': bool(share >= COVERAGE)},
    ]))


if __name__ == '__main__':
    main()
