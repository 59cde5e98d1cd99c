"""Constants and signs of drives that control nothing are checked by the weight of the links."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
import yaml

from support import actuated_arm as arm
from sysid_ros.estimation.actuator_commands import gain_warnings
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement

CONSTANT, GEAR, SECONDS = 0.05, 50.0, 6.0
STIFFNESS, DAMPING = np.array([60.0, 30.0]), np.array([4.0, 2.0])


@pytest.fixture(scope='module')
def recorded():
    """Currents of a controller beside the arm, 4 ms late at its motors, and encoder readings."""
    parts = [value for pair in arm.TRUTH.values() for value in pair]
    motors = ''.join(
        f'<motor joint="{name}" gear="{CONSTANT * GEAR}"/>' for name in arm.JOINTS)
    model = mujoco.MjModel.from_xml_string(arm.ARM.format(*parts).replace(
        '</mujoco>', f'<actuator>{motors}</actuator></mujoco>'))
    model.opt.timestep, model.opt.integrator = arm.STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data, every = mujoco.MjData(model), round(1.0 / (arm.RATE * arm.STEP))
    t = np.arange(round(SECONDS * arm.RATE)) / arm.RATE
    wanted, late, count = arm.commanded(t, 1.0), round(0.004 / arm.STEP), 2.0 * np.pi / 16384
    data.qpos[:] = wanted[0]
    currents, read = [], []
    for k in range(len(t) * every):
        if k % every == 0:
            read.append(np.round(data.qpos / count) * count)
            torque = STIFFNESS * (wanted[k // every] - data.qpos) - DAMPING * data.qvel
            currents.append(torque / (CONSTANT * GEAR))
        data.ctrl[:] = currents[max(k - late, 0) // every]
        mujoco.mj_step(model, data)
    return t, np.array(currents), np.array(read)


def warnings_of(folder, recorded, constant=CONSTANT, gear=GEAR, sign=1.0):
    t, current, q = recorded
    (folder / 'arm.xml').write_text(arm.DESCRIBED)
    np.savetxt(folder / 'data.csv', np.column_stack([t, sign * current, q]), delimiter=',',
               header='t,u_shoulder,u_elbow,q_shoulder,q_elbow', comments='')
    drive = {'kind': 'current', 'torque_constant': constant, 'gear': gear}
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'arm.xml', 'actuators': {'*': drive}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': list(arm.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'},
            'command': {'prefix': 'u_', 'unit': 'A'}}}))
    return gain_warnings(Measurement.read(FitSetup.load(folder / 'settings.yaml')).problem())


@pytest.mark.parametrize('off', [1.0, 0.7, 1.5])
def test_constants_that_are_about_right_are_not_accused(tmp_path, recorded, off):
    assert not warnings_of(tmp_path, recorded, off * CONSTANT)


@pytest.mark.parametrize(('constant', 'gear', 'times'), [
    (1e3 * CONSTANT, GEAR, 1e3), (CONSTANT, GEAR**2, GEAR), (CONSTANT, 1.0, 1.0 / GEAR)])
def test_constants_in_other_units_and_gears_that_do_not_count_once_are_told(
    tmp_path, recorded, constant, gear, times
):
    warning, = warnings_of(tmp_path, recorded, constant, gear)
    assert 'that a gear counts once' in warning
    for name in arm.JOINTS:
        found = float(re.search(rf'{name} ([0-9.e+-]+)', warning)[1])
        assert found == pytest.approx(times, rel=0.3)


def test_currents_of_the_other_sign_are_told(tmp_path, recorded):
    warning, = warnings_of(tmp_path, recorded, sign=-1.0)
    assert 'shoulder, elbow make torques against' in warning and 'sign -1' in warning
