"""A robot that stands on the ground is told by the torques of its drives; one that hangs is not."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support import legged_robot as leg
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.study import Study
from sysid_ros.evaluation.supported_links import supported_links

SECONDS = 8.0


def setup_of(folder, motion, *, stands, factor=1.0, zeros=0.0, **fit):
    """The settings of a robot whose description has half of its friction.

    Args:
        folder: Where files go.
        motion: What makes the commands.
        stands: Whether it stands on the ground.
        factor: Of the gains in the settings.
        zeros: Spread of the zeros of the encoders in [rad].
        fit: Settings of the fit.
    """
    command = motion(SECONDS)
    t, q = leg.recording(command, stands=stands)
    q = q + np.random.default_rng(0).normal(0.0, zeros, 12)
    (folder / 'robot.xml').write_text(leg.document())
    header = ['t', *(f'u_{name}' for name in leg.JOINTS), *(f'q_{name}' for name in leg.JOINTS)]
    np.savetxt(folder / 'data.csv', np.column_stack([t, command, q]), delimiter=',',
               header=','.join(header), comments='')
    servo = {'kind': 'position_servo', 'kp': factor * leg.KP, 'kd': factor * leg.KD}
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {
            'description': 'robot.xml', 'actuators': {'*': servo}, 'command_delay': 0.0,
            'terms': {'coulomb_smoothing': 0.05}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': list(leg.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}},
        'fit': fit}))
    return FitSetup.load(folder / 'settings.yaml')


def supported(*args, **keywords):
    """Links that are held up by the recording of :func:`setup_of`."""
    return supported_links(Measurement.read(setup_of(*args, **keywords)).problem())


@pytest.mark.parametrize('motion', [leg.squats, leg.trot])
@pytest.mark.parametrize('zeros', [0.0, 0.03])
def test_a_robot_that_stands_on_its_feet_is_told(tmp_path, motion, zeros):
    found = supported(tmp_path, motion, stands=True, zeros=zeros)
    assert len(found) >= 2 and all(link.body.endswith('calf_link') for link in found)
    assert all(link.weight < -4.0 * link.deviation for link in found)


@pytest.mark.parametrize('motion', [leg.free_motion, leg.squats, leg.trot])
@pytest.mark.parametrize(('factor', 'zeros'), [
    (1.0, 0.0), (1.0, 0.03), (1.5, 0.0), (20.0, 0.0), (1.0 / 57.3, 0.0)])
def test_a_robot_that_is_held_is_not_accused_whatever_its_gains_and_zeros(
    tmp_path, motion, factor, zeros
):
    assert not supported(tmp_path, motion, stands=False, factor=factor, zeros=zeros)


@pytest.mark.slow
def test_the_verdict_on_a_robot_that_stands_says_what_to_record(tmp_path):
    # What is found is of no matter here: armatures alone are sought.
    fixed = ['*.viscous_friction', '*.coulomb_friction', '*.torque_offset', '*_link.*']
    setup = setup_of(tmp_path, leg.squats, stands=True, fixed=fixed)
    verdict = Study.load(setup, holdout=0.3, estimator='shooting').fit('shooting').verdict
    assert not verdict.committable
    said, = (reason for reason in verdict.reasons if reason.startswith('Something holds'))
    assert 'rear_left_calf_link' in said
    assert any('base held' in step for step in verdict.next_steps)
