"""A fleet of simulated arms with short recordings, and the table of its batch."""

import numpy as np
import yaml

from support.finished_fit import SETTINGS
from support.simulated_arm import SimulatedArm

#: Length of the recordings in [s] and their rate in [Hz].
SECONDS, RATE = 8.0, 100.0


def write_robot(folder, seed, *, seconds=SECONDS):
    """Write description, recording and settings of an arm.

    Args:
        folder: Folder to write.
        seed: Of the arm.
        seconds: Length of the recording.

    Returns:
        The arm.
    """
    arm = SimulatedArm(seed)
    write_settings(folder, arm)
    write_recording(folder / 'recording.npz', arm, seconds=seconds)
    return arm


def write_settings(folder, arm):
    """Write description and settings of an arm, beside which its recording will be."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'arm.urdf').write_text(arm.description, encoding='utf-8')
    recording = SETTINGS['recording'] | {'joints': list(arm.joint_names)}
    (folder / 'settings.yaml').write_text(
        yaml.safe_dump(SETTINGS | {'recording': recording}), encoding='utf-8')


def write_recording(path, arm, *, seconds=SECONDS):
    """Write a recording of an arm."""
    position, effort = arm.recording(seconds, RATE, noise=0.02).channels
    np.savez(path, t=position.t, q=position.values, tau=effort.values)


def write_fleet(folder, seeds):
    """Write robots and their table; returns the table's file."""
    for seed in seeds:
        write_robot(folder / f'arm_{seed}', seed)
    lines = ['robot,settings', *(f'arm_{seed},arm_{seed}/settings.yaml' for seed in seeds)]
    table = folder / 'robots.csv'
    table.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return table
