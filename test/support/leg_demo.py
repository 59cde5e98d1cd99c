"""The folder of the demo of a leg as its operator leaves it, without ROS 2 and not in real time."""

import json

import numpy as np

from support.command_bags import Command, array_message, write_command_bag
from sysid_ros.demo.folder import prepare
from sysid_ros.demo.mujoco_plant import Plant
from sysid_ros.demo.servo import Drives, DriveSettings
from sysid_ros.demo.true_robot import Deviations
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.excitation.files import load_excitation
from sysid_ros.runs.fit_job import fit_job
from sysid_ros.runs.job import FitJob
from sysid_ros.runs.sources import load_without_recording, write_recording_settings
from sysid_ros.settings import load_yaml

# Joint states and commands a second, and rest before and after a motion in [s].
STATES, COMMANDS, REST = 250, 200, 1.0


def _record(plant, drives, excitation, path):
    """Play a motion by positions as the excitation node streams them, and write its bag."""
    every, joints = round(1.0 / (STATES * plant.timestep)), excitation.joint_names
    length = excitation.duration + 2.0 * REST
    t, q, told = [], [], []
    begin = drives.t
    for k in range(round(length / plant.timestep)):
        now = k * plant.timestep
        if k % round(1.0 / (COMMANDS * plant.timestep)) == 0:
            at = np.clip(now - REST, 0.0, excitation.duration)
            wanted = excitation.sample(np.array([at])).q[0]
            drives.take_position(wanted)
            told.append(Command(begin + now, array_message(wanted.tolist()), '/position_commands'))
        drives.step()
        if k % every == 0:
            t.append(drives.t)
            q.append(plant.q)
    step = 2.0 * np.pi / 16384
    write_command_bag(path, np.array(t), joints, np.round(np.array(q) / step) * step, told)


def finished_demo(folder):
    """Two recordings, their fit and what the operator has written; the folder."""
    folder = prepare(folder, 'quadruped_leg')
    given = load_yaml(folder / 'nodes.yaml')['/**/simulated_robot']['ros__parameters']
    setup = FitSetup.of(load_without_recording(folder / 'identification.yaml'))
    robot, data = setup.model.robot, folder / 'data'
    plant = Plant.of(robot, Deviations.load(folder / 'truth.yaml').of(robot))
    for name in ('identification', 'held_out'):
        excitation = load_excitation(data / 'motions' / f'{name}.yaml')
        plant.reset(excitation.sample(np.zeros(1)).q[0])
        drives = Drives(plant, DriveSettings(
            effort=robot.limits.effort, deceleration=np.full(3, 40.0),
            delay=given['command_delay'],
            gains=np.array([given['servo_stiffness'], given['servo_damping']])))
        recording = data / 'recordings' / name
        _record(plant, drives, excitation, recording)
        write_recording_settings(recording, setup, {
            'joints': list(robot.joint_names), 'topic': '/joint_states',
            'command': {'topic': '/position_commands'}})
    result = fit_job(FitJob(
        recording=data / 'recordings' / 'identification',
        validation=data / 'recordings' / 'held_out', folder=data / 'estimates' / 'fit',
        recordings=('identification', 'held_out')), lambda stage, progress: None)
    (folder / 'results.json').write_text(json.dumps({
        'estimate': 'fit', 'committable': result['committable'], 'reasons': result['reasons'],
        'commit': {'revision': '2-4f58'}, 'rollback': {'revision': '3-4f58'},
        'revisions': [{'current': True, 'revision': '3-4f58', 'restored': '1-3fbb'}]}))
    return folder
