"""Recordings that are fitted together: what their efforts look like, and what has its say in it."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements

JOINT, SCALE, STOP = 2, 0.6, 0.7


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(1)


def measured(folder, arm, stop):
    """A recording in which the effort of a joint is of another scale up to a part of its time."""
    recording = arm.recording(60.0, 100.0, bits=18)
    position, effort = recording.channel('position'), recording.channel('effort')
    tau = np.array(effort.values)
    tau[:round(stop * len(tau)), JOINT] *= SCALE
    np.savez(folder / 'first.npz', t=position.t, q=position.values, tau=tau)
    (folder / 'arm.urdf').write_text(arm.description)
    (folder / 'first.yaml').write_text(yaml.safe_dump({
        'robot': {'urdf': 'arm.urdf'}, 'recording': {
            'format': 'npz', 'file': 'first.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'}, 'joints': list(effort.names)}}))
    return Measurements.read(FitSetup.load(folder / 'first.yaml'))


@pytest.mark.parametrize('until', [STOP, 1.0])
def test_a_scale_of_a_joint_has_to_show_in_what_comes_after_the_part_that_is_looked_at(
    arm, tmp_path, until
):
    both = measured(tmp_path, arm, until)
    motions = [part.motion(0.0, STOP) for part in both.parts]
    alone, = both.effort_findings(motions)
    assert [one.joint for one in alone if not one.kind.usable] == [arm.joint_names[JOINT]]
    found, = both.effort_findings(motions, stop=STOP)
    assert len(found) == len(alone)
    assert all(one.kind.usable for one in found) == (until < 1.0)
