"""A search for a filter of commands begins where joints follow what they were told."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from scipy.signal import lfilter

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.trajectory.command_filter import with_filter_that_joints_follow

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/>
<body name="fore" pos="0 0 -0.2"><joint name="elbow" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.002 0.002 0.001"/></body></body>
</worldbody></mujoco>"""
STEP = 0.002


def problem(folder, time_constant, kind, sought='sought'):
    """Joints that are as far as filtered commands 10 ms ago, of another size and somewhere else."""
    (folder / 'arm.xml').write_text(ARM)
    t = np.arange(4000) * STEP
    u = np.sign(np.sin(2.0 * np.pi * np.outer(t, [0.4, 0.7]) + [0.3, 1.0]))
    left = np.exp(-STEP / time_constant)
    # Commands that hold over a step: the exact filter of them.
    y = lfilter([0.0, 1.0 - left], [1.0, -left], u - u[0], axis=0) + u[0]
    q = 0.2 + 0.9 * np.vstack([y[:1].repeat(5, axis=0), y[:-5]])
    q += np.random.default_rng(0).normal(0.0, 1e-4, q.shape)
    np.savetxt(folder / 'data.csv', np.column_stack([t, u, q]), delimiter=',', comments='',
               header='t,u_shoulder,u_elbow,q_shoulder,q_elbow')
    constants = {'kp': 20.0, 'kd': 0.5} if kind == 'position_servo' else {}
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {
            'description': 'arm.xml', 'command_time_constant': sought,
            'actuators': {'*': {'kind': kind, **constants}}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': ['shoulder', 'elbow'],
            'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {
                'prefix': 'u_', 'unit': 'rad' if constants else 'N·m'}}}))
    return Measurements.read(FitSetup.load(folder / 'settings.yaml')).trajectory_problem()


@pytest.mark.parametrize('time_constant', [0.012, 0.06, 0.4])
def test_the_first_guess_is_near_what_joints_follow(tmp_path, time_constant):
    found = with_filter_that_joints_follow(problem(tmp_path, time_constant, 'position_servo'))
    guess = found.parameters['command.time_constant']
    # One of 24 time constants, a quarter apart.
    assert 0.75 * time_constant < guess < 1.35 * time_constant


def test_where_a_command_is_no_position_or_the_filter_is_known_it_stays(tmp_path):
    for kind, sought in (('torque', 'sought'), ('position_servo', 0.05)):
        given = problem(tmp_path, 0.2, kind, sought)
        assert with_filter_that_joints_follow(given) is given
