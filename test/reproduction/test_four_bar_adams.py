"""Inverse dynamics of two planar mechanisms against the torques of a commercial simulator.

The torques of the four-bar are given to 1e-7 of their size. Those of the pick-and-place robot
come from a trajectory that was rounded before it was differentiated, and jumps in acceleration at
half its time: they scatter by about one newton-metre, as its figure says.
"""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support import four_bar_reference as reference
from sysid_ros.estimation.trajectory.graph.inverse_dynamics import inverse_dynamics
from sysid_ros.estimation.trajectory.graph.mechanism_file import (
    MechanismSettings,
    parse_mechanism,
)

# The simulator's own gravity, and the step of its tables in [s].
GRAVITY, STEP = 9.80665, 5e-3
FOUR_BAR_BAR, TRACKING_BAR = 1.5e-4, 1e-3


@pytest.fixture(scope='module')
def folder(shared_data):
    if not (shared_data / 'four_bar_adams').is_dir():
        pytest.skip(f'no four_bar_adams in {shared_data}')
    return shared_data / 'four_bar_adams'


def table(path):
    return np.loadtxt(path, comments='%')


def relative(error, wanted):
    return float(np.linalg.norm(error) / np.linalg.norm(wanted))


def test_the_four_bar(folder, record_property):
    wanted = table(folder / 'InverseDynamics_4bars_MSC.tab')
    trajectory = table(folder / 'fourbars1-with-rel-angle-trajectory.txt')[:len(wanted), 1:]
    mechanism = parse_mechanism(reference.description(GRAVITY))
    found = inverse_dynamics(mechanism, STEP, trajectory)
    # The table holds the torque on the motor.
    error = relative(found.variables['torque'][:, 0] + wanted[:, 1], wanted[:, 1])
    tracking = np.abs(found.variables['q'][:, 4] - trajectory[:, 0])
    print(f'\nfour-bar: torque {error:.3g} relative, tracking {tracking.max():.3g} rad')
    record_property('relative torque error', error)
    assert error <= FOUR_BAR_BAR
    assert tracking.max() <= TRACKING_BAR
    # It does not grow: the last quarter is no worse than twice the first.
    quarter = len(tracking) // 4
    assert tracking[-quarter:].max() <= 2.0 * tracking[:quarter].max() + 1e-7


def number(text, **names):
    """A number that may be written as a product of others."""
    return float(eval(str(text).replace('^', '**'), {'__builtins__': {}}, names))


def pick_and_place(path):
    """The robot, as its own file describes it."""
    data = yaml.safe_load(path.read_text(encoding='utf-8'))
    at = [(number(p['x']), number(p['y'])) for p in data['points']]
    bodies = {}
    for k, body in enumerate(data['planar_bodies']):
        length = float(np.hypot(*np.subtract(at[body['points'][0]], at[body['points'][1]])))
        names = {'length': length, 'length12': length, 'mass': number(body['mass'])}
        bodies[f'body {k}'] = {
            'points': [f'P{p}' for p in body['points']], 'mass': names['mass'],
            'center': [number(c, **names) for c in body['cog']],
            'inertia': number(body['I0'], **names)}
    angles = {
        f'motor {k}': {'of': [f'P{p}' for p in angle['points']]}
        for k, angle in enumerate(data['relative_coordinates'])}
    return MechanismSettings.model_validate({
        'name': 'pick and place', 'gravity': [0.0, -GRAVITY], 'bodies': bodies, 'angles': angles,
        'points': {
            f'P{k}': {'at': at[k], 'fixed': bool(point.get('fixed', False))}
            for k, point in enumerate(data['points'])},
        'torques': list(angles), 'independent': list(angles)}).mechanism()


def test_the_pick_and_place_robot(folder, record_property):
    mechanism = pick_and_place(folder / 'pick-and-place-robot.yaml')
    # Two parallelograms keep the platform level, one more than it takes.
    assert mechanism.rank == len(mechanism.constraints) - 1
    wanted = table(folder / 'InverseDynamics_pprobot_MSC.tab')[:, 1:]
    trajectory = table(folder / 'pick-and-place-robot-trajectory.txt')[:, 1:]
    found = inverse_dynamics(mechanism, STEP, trajectory)
    torque = found.variables['torque']
    tracking = np.abs(found.variables['q'][:, mechanism.independent] - trajectory).max()
    whole = relative(torque - wanted, wanted)
    # Before the rounding of the trajectory shows, while it moves little.
    early = relative((torque - wanted)[:120], wanted[:120])
    print(f'\npick and place: torque {whole:.3g} relative, {early:.3g} in the first 0.6 s, '
          f'tracking {tracking:.3g} rad')
    record_property('relative torque error', whole)
    assert whole <= 1e-2
    assert early <= 3e-4
    assert tracking <= TRACKING_BAR
