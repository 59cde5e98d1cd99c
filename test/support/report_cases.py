"""Runs whose reports are looked at: robots of the shared recordings, a bad motion, none at all."""

from pathlib import Path

import numpy as np
import yaml

from support.finished_fit import SETTINGS
from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.fit import fit_to_folder
from sysid_ros.runs.workloads import fit_small

_REPRODUCTION = Path(__file__).resolve().parents[1] / 'reproduction'
_SECONDS, _RATE, _NOISE, _HOLDOUT = 16.0, 100.0, 0.02, 0.25


def fit_arm(arm, folder):
    """Folder of a run: a simulated arm, recorded and fitted whatever the verdict says.

    Args:
        arm: The simulated arm.
        folder: Empty folder.
    """
    position, effort = arm.recording(_SECONDS, _RATE, noise=_NOISE).channels
    np.savez(folder / 'recording.npz', t=position.t, q=position.values, tau=effort.values)
    (folder / 'arm.urdf').write_text(arm.description, encoding='utf-8')
    settings = SETTINGS | {
        'recording': SETTINGS['recording'] | {'joints': list(arm.joint_names)}}
    return _fitted(settings, folder, folder, holdout=_HOLDOUT)


def still_arm(folder, _data):
    """An arm that stands still for the whole recording."""
    arm = SimulatedArm(1)
    return fit_arm(arm.moved_by(arm.truth, still=range(len(arm.joint_names))), folder)


def poor_motion(folder, _data):
    """An arm whose last joints stand still and whose first ones move slowly, over a short way."""
    arm = SimulatedArm(1)
    return fit_arm(arm.moved_by(arm.truth, 0.5, still=range(3, len(arm.joint_names))), folder)


def trajectory_fit(folder, _data):
    """A pendulum whose states and parameters are sought together."""
    fit_small('pendulum', 'shooting', folder)
    return folder / 'run'


def tx40(folder, data):
    """A Stäubli TX40, real, judged by the last third of its recording."""
    return _fitted(_bare('tx40', 'tx40_mdh_modified.urdf'), folder, data / 'staubli_tx40',
                   holdout=1.0 / 3.0)


def kuka(folder, data):
    """A KUKA LWR4+, real, judged by another recording."""
    base = data / 'kuka_lwr4'
    other = _written(_bare('kuka_run2', 'kuka_lwr4.urdf'), folder / 'second.yaml', base)
    return _fitted(_bare('kuka_run1', 'kuka_lwr4.urdf'), folder, base, validation=other)


def go2(folder, data):
    """A Unitree Go2, real, of which commands were recorded and no torque."""
    base = data / 'unitree_go2'
    file = base / 'command_and_position.csv'
    columns = file.read_text(encoding='utf-8').partition('\n')[0].strip().split(',')
    joints = [name.removeprefix('position_') for name in columns if name.startswith('position_')]
    return _fitted({
        'robot': {
            'description': 'go2_fixed_base.xml',
            'actuators': {'*': {
                'kind': 'position_servo', 'kp': 20.0, 'kd': 1.5, 'torque_limit': 23.7}}},
        'recording': {
            'format': 'csv', 'joints': joints, 'file': file.name, 'time': {'column': 't'},
            'position': {'prefix': 'position_'},
            'command': {'prefix': 'command_', 'unit': 'rad'}},
        'fit': {'estimator': 'shooting'},
    }, folder, base, holdout=1.0 / 3.0)


#: Simulated robots, and those of the shared recordings; each makes a run in an empty folder.
SIMULATED = {'still': still_arm, 'poor': poor_motion, 'trajectory': trajectory_fit}
REAL = {'tx40': tx40, 'kuka': kuka, 'go2': go2}


def _bare(name, urdf):
    """Settings of a recording without what an expert added."""
    recording = yaml.safe_load((_REPRODUCTION / f'{name}.yaml').read_text())['recording']
    for derivative in ('velocity', 'acceleration'):
        recording.pop(derivative, None)
    return {'robot': {'urdf': urdf}, 'recording': recording}


def _written(settings, path, base):
    path.write_text(yaml.safe_dump(settings), encoding='utf-8')
    return Identification.load(path, base)


def _fitted(settings, folder, base, **judged):
    identification = _written(settings, folder / 'settings.yaml', base)
    fit_to_folder(
        identification, folder / 'run', estimator=identification.settings.fit.estimator, **judged)
    return folder / 'run'
