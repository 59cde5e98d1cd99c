"""What a delay of commands leaves open of viscous friction is said of motion that is too slow."""

import numpy as np
import pytest
import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.study import Study

mujoco = pytest.importorskip('mujoco')

KP, KD, LATE, VISCOUS, PERIOD, SECONDS = 20.0, 0.5, 0.012, 0.05, 0.005, 8.0
PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/>
<option timestep="0.001" integrator="implicitfast"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0" damping="{damping}" frictionloss="0.1"
armature="0.02"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody></mujoco>"""


def recorded(fastest):
    """Time, commands and readings of a servo in MuJoCo, sines up to a frequency in [Hz]."""
    model = mujoco.MjModel.from_xml_string(PENDULUM.format(damping=VISCOUS))
    data = mujoco.MjData(model)
    t = np.arange(round(SECONDS / PERIOD) + 1) * PERIOD
    u = 0.3 * np.sin(2.0 * np.pi * (0.2 * t + 0.5 * (fastest - 0.2) / SECONDS * t**2))
    every, late = round(PERIOD / 1e-3), round(LATE / 1e-3)
    q = np.empty(len(t))
    for k in range((len(t) - 1) * every + 1):
        if k % every == 0:
            q[k // every] = data.qpos[0]
        told = u[max(k - late, 0) // every]
        data.qfrc_applied[0] = KP * (told - data.qpos[0]) - KD * data.qvel[0]
        mujoco.mj_step(model, data)
    return np.column_stack([t, u, np.round(q / 1e-3) * 1e-3])


def fitted(folder, fastest):
    folder.mkdir()
    (folder / 'pendulum.xml').write_text(PENDULUM.format(damping=0.02))
    np.savetxt(folder / 'data.csv', recorded(fastest), delimiter=',', comments='',
               header='t,u_hinge,q_hinge')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'pendulum.xml', 'actuators': {
            'hinge': {'kind': 'position_servo', 'kp': KP, 'kd': KD}}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': ['hinge'], 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
    study = Study.load(FitSetup.load(folder / 'settings.yaml'), holdout=0.2, estimator='shooting')
    return study.fit('shooting')


def said(evaluation):
    return [line for line in evaluation.verdict.remarks if 'looks like viscous friction' in line]


def test_slow_motion_leaves_it_open_and_fast_motion_does_not(tmp_path):
    slow, fast = fitted(tmp_path / 'slow', 0.3), fitted(tmp_path / 'fast', 5.0)
    line, = said(slow)
    assert 'hinge (0.0' in line and 'highest: 4' in line
    assert not said(fast)
    found = fast.estimate.parameters
    assert found['hinge.viscous_friction'] == pytest.approx(VISCOUS, rel=0.2)
    assert found['command.delay'] == pytest.approx(LATE, rel=0.1)
