"""A bag whose stamps jitter by half a period is fitted as well as one with exact stamps."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from sysid_ros.cli.main import main
from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode
from sysid_ros.recording.bag.mcap_writer import McapWriter

RATE, SECONDS = 500.0, 12.0
# Absolute time of the first sample, and how late messages are received, in [ns].
START, LATE = 1_700_000_000_000_000_000, 300_000


def torque_error(arm, folder, jitter):
    """Error on a motion that was neither fitted nor judged by, in parts of the torque."""
    recording = arm.recording(SECONDS, RATE, bits=17)
    t, q = recording.channel('position').t, recording.channel('position').values
    taken = START + np.rint(1e9 * t).astype(np.int64)
    stray = 1e9 * jitter * np.random.default_rng(3).normal(size=len(t))
    table = encode(taken + np.rint(stray).astype(np.int64), arm.joint_names, {
        'position': q, 'velocity': None, 'effort': recording.channel('effort').values})
    folder.mkdir()
    writer = McapWriter(folder / 'bag.mcap', ['/joint_states'], [JOINT_STATE])
    writer.write(0, (taken + LATE).tolist(), [row.tobytes() for row in table])
    writer.close()
    (folder / 'arm.urdf').write_text(arm.description)
    (folder / 'arm.yaml').write_text(yaml.safe_dump({
        # Which friction is chosen rests on last bits here, and is no matter of stamps.
        'robot': {'urdf': 'arm.urdf', 'terms': {
            'armature': [], 'stiffness': [], 'coulomb_friction': 'all'}},
        'recording': {
            'format': 'rosbag', 'file': 'bag.mcap', 'joints': list(arm.joint_names)},
        'processing': {'position_filter': {'cutoff': 10.0}, 'parallel_filter': {'cutoff': 5.0},
                       'torque_delay': 0.0},
        'fit': {'minimum_velocity': 0.05}}))
    run = folder / 'run'
    assert main(['fit', str(folder / 'arm.yaml'), '--holdout', '0.25', '-q', '-o', str(run)]) == 0
    parameters = json.loads((run / 'estimate.json').read_text())['parameters']
    found = dict(zip(parameters['names'], parameters['values'], strict=True))
    values = arm.model.parameters.with_values(
        {name: found.get(name, 0.0) for name in arm.model.parameters.names}).values
    unseen = np.arange(30.0, 40.0, 0.01)
    told = arm.model.torque(values, *arm.motion(unseen))
    return float(np.linalg.norm(told - arm.torque(unseen)) / np.linalg.norm(arm.torque(unseen)))


@pytest.mark.slow
def test_a_millisecond_of_jitter_at_500_hz_costs_no_more_than_a_tenth(
    simulated_arm, tmp_path
):
    arm = simulated_arm(4)
    exact = torque_error(arm, tmp_path / 'exact', 0.0)
    assert exact < 0.01
    assert torque_error(arm, tmp_path / 'jitter', 1e-3) == pytest.approx(exact, rel=0.1)
