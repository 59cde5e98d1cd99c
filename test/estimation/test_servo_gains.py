"""Gains of servos in N·m/deg are told where friction is most of the torque, as of hobby servos."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import yaml

from support import actuated_arm as arm
from sysid_ros.estimation.actuator_commands import gain_warnings
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement

RATE, SECONDS = 200.0, 12.0
KP = 40.0


@pytest.fixture(scope='module')
def recorded():
    """Stamps, positions, and commands of servos that make what MuJoCo's arm takes, and friction."""
    model = mujoco.MjModel.from_xml_string(arm.DESCRIBED)
    model.dof_damping[:], model.dof_frictionloss[:] = 0.0, 0.0
    data = mujoco.MjData(model)
    t = np.arange(round(SECONDS * RATE)) / RATE
    rate, phase = np.array([[2.1, 3.4], [5.3, 6.1]]), np.array([[0.0, 1.0], [2.0, 0.5]])
    size = np.array([[0.5, 0.6], [0.15, 0.2]])
    angle = rate[:, None] * t[:, None] + phase[:, None]
    q = np.sum(size[:, None] * np.sin(angle), axis=0)
    v = np.sum((size * rate)[:, None] * np.cos(angle), axis=0)
    a = np.sum(-(size * rate**2)[:, None] * np.sin(angle), axis=0)
    links = np.empty_like(q)
    for k in range(len(t)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        links[k] = data.qfrc_inverse
    friction = 3.0 * links.std(axis=0) * (np.tanh(v / 0.01) + v / v.std(axis=0))
    return t, q, q + (links + friction) / KP


def warnings_of(folder, recorded, kp):
    t, q, told = recorded
    (folder / 'arm.xml').write_text(arm.DESCRIBED)
    np.savetxt(folder / 'data.csv', np.column_stack([t, told, q]), delimiter=',',
               header='t,u_shoulder,u_elbow,q_shoulder,q_elbow', comments='')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'arm.xml', 'command_delay': 0.0,
                  'actuators': {'*': {'kind': 'position_servo', 'kp': kp}}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': list(arm.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
    return gain_warnings(Measurement.read(FitSetup.load(folder / 'settings.yaml')).problem())


def test_gains_in_degrees_are_told_beside_large_friction(tmp_path, recorded):
    warning, = warnings_of(tmp_path, recorded, float(np.deg2rad(KP)))
    assert warning.startswith(f'The gains of {", ".join(arm.JOINTS)} make about 57 times less')
    assert 'N·m/deg have to be given in N·m/rad' in warning


@pytest.mark.parametrize('off', [0.3, 1.0, 3.0])
def test_gains_that_are_about_right_are_not_accused(tmp_path, recorded, off):
    assert not warnings_of(tmp_path, recorded, off * KP)
