"""What settings and torque model make of a recording before anything is fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings


def test_a_clipped_effort_is_named_where_the_recording_is_aligned(simulated_arm):
    arm = simulated_arm(1)
    settings = IdentificationSettings.model_validate({
        'robot': {'urdf': 'arm.urdf'},
        'recording': {'format': 'npz', 'file': 'x.npz', 'time': {'array': 't'},
                      'position': {'array': 'q'}, 'effort': {'array': 'tau'},
                      'joints': list(arm.joint_names)}})
    setup = FitSetup(Identification(settings, Path()), arm.model)
    recording = arm.recording(20.0, 200.0)
    assert not any('clipped' in warning for warning in setup.align(recording).warnings)
    channel = recording.channel_of('effort', arm.joint_names[0])
    size = channel.values.std(axis=0)
    noise = 0.02 * size * np.random.default_rng(0).normal(size=channel.values.shape)
    limited = replace(channel, values=np.clip(channel.values, -size, size) + noise)
    clipped = replace(recording, channels=tuple(
        limited if one is channel else one for one in recording.channels))
    (first, *_) = [one for one in setup.align(clipped).warnings if 'clipped' in one]
    assert 'where the motion asks for up to' in first
