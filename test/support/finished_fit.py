"""A fit of a simulated arm as `sysid fit` leaves it, for tests of what comes after."""

import json
import shutil
import time
from pathlib import Path

import numpy as np
import yaml

from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.fit import fit_to_folder
from sysid_ros.runs.judged import KEY, digests

SETTINGS = {
    'robot': {'urdf': 'arm.urdf'},
    'recording': {
        'format': 'npz', 'file': 'recording.npz', 'time': {'array': 't'},
        'position': {'array': 'q'}, 'effort': {'array': 'tau'},
    },
    'processing': {'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}},
}


def make_fit(folder, arm, *, noise=0.02):
    """Record and fit an arm.

    Args:
        folder: Folder to write ``settings.yaml``, the recording and ``fit/`` into.
        arm: The simulated arm.
        noise: Of its torques.

    Returns:
        Folder of the settings.
    """
    folder = Path(folder)
    recording = arm.recording(16.0, 100.0, noise=noise)
    position, effort = recording.channels
    np.savez(folder / 'recording.npz', t=position.t, q=position.values, tau=effort.values)
    (folder / 'arm.urdf').write_text(arm.description, encoding='utf-8')
    settings = SETTINGS | {
        'recording': SETTINGS['recording'] | {'joints': list(arm.joint_names)}}
    (folder / 'settings.yaml').write_text(yaml.safe_dump(settings), encoding='utf-8')
    run = fit_to_folder(
        Identification.load(folder / 'settings.yaml'), folder / 'fit', estimator='entropic',
        holdout=0.25)
    assert run.evaluation.verdict.committable, run.summary
    write_provenance(folder / 'fit')
    return folder


def write_provenance(folder, **changes):
    """Write what the identification node notes beside a fit."""
    content = {
        'base_revision': '', 'recording_end': time.time_ns() - 2_000_000_000_000,
        'estimated': 1_700_000_000_000_000_000, 'held_out_relative_error': 0.03,
        'prior_relative_error': 0.3, 'condition_number': 42.0,
    }
    (folder / 'provenance.json').write_text(json.dumps(content | changes), encoding='utf-8')


def edit_fit(folder, name, change):
    """Edit a JSON file of a fit, and write digests that fit, as who means to deceive would."""
    file, verdict = folder / name, folder / 'verdict.json'
    data = json.loads(file.read_text(encoding='utf-8'))
    change(data)
    file.write_text(json.dumps(data), encoding='utf-8')
    judged = json.loads(verdict.read_text(encoding='utf-8')) | {KEY: digests(folder)}
    verdict.write_text(json.dumps(judged), encoding='utf-8')


def copy_fit(made, data, name, **provenance):
    """Put a copy of a fit into a data folder as an estimate; returns its folder."""
    folder = Path(data) / 'estimates' / name
    shutil.copytree(Path(made) / 'fit', folder)
    write_provenance(folder, **provenance)
    return folder
