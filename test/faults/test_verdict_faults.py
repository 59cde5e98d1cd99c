"""FAULTS 64 and 66: what is wrong with all recordings alike never becomes a good fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from support.simulated_arm import SimulatedArm
from sysid_ros.errors import SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.study import Study

RATE, SECONDS = 100.0, 16.0
ARM = SimulatedArm(1)
# The joint that carries most, whose effort is spoilt where one is.
STRONGEST = 1


@dataclass(frozen=True)
class Signals:
    """Stamps, positions and efforts."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray


def recorded(motion: int) -> Signals:
    """The arm in another motion."""
    moved = SimulatedArm(motion)
    t = np.arange(round(RATE * SECONDS)) / RATE
    q, v, a = moved.motion(t)
    dry, viscous = ARM._friction
    return Signals(t, q, noisy(ARM.rigid(q, v, a) + dry * np.sign(v) + viscous * v, motion))


def noisy(tau: np.ndarray, seed: int, part: float = 0.02) -> np.ndarray:
    size = np.sqrt(np.mean(tau**2, axis=0))
    return tau + part * size * np.random.default_rng(seed).normal(size=tau.shape)


def write(folder: Path, name: str, data: Signals) -> Identification:
    (folder / 'arm.urdf').write_text(ARM.description, encoding='utf-8')
    np.savez(folder / f'{name}.npz', t=data.t, q=data.q, tau=data.tau)
    (folder / f'{name}.yaml').write_text(yaml.safe_dump({
        'robot': {'urdf': 'arm.urdf'},
        'recording': {
            'format': 'npz', 'file': f'{name}.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'},
            'joints': list(ARM.joint_names)},
        # Leaves nothing to be chosen, so that a fit takes a second.
        'automatic': False, 'processing': {
            'position_filter': {'cutoff': 20.0},
            'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}},
    }), encoding='utf-8')
    return Identification.load(folder / f'{name}.yaml')


def judged(folder, spoil):
    """Verdict of a fit to one spoilt recording that another one, spoilt alike, judges."""
    fitted, other = (write(folder, f'run_{k}', spoil(recorded(k))) for k in (1, 2))
    return Study.load(FitSetup.of(fitted), validation=other).fit('entropic').verdict


def refused(folder, spoil):
    """What speaks against it; what is refused before the fit counts, too."""
    try:
        verdict = judged(folder, spoil)
    except SysidError as error:
        return str(error)
    assert not verdict.committable
    return ' '.join(verdict.reasons)


def at_rest(data: Signals, moving: tuple[int, ...] = ()) -> Signals:
    """Encoders flicker, torques hold the weight, and what moves, moves."""
    flicker = 1e-4 * np.round(np.random.default_rng(0).uniform(-0.6, 0.6, data.q.shape))
    q = data.q[0] + flicker
    tau = noisy(np.broadcast_to(data.tau.mean(axis=0), data.tau.shape), 0)
    q[:, list(moving)], tau[:, list(moving)] = data.q[:, list(moving)], data.tau[:, list(moving)]
    return Signals(data.t, q, tau)


def frozen(data: Signals) -> Signals:
    """Positions are those of the first instant while torques go on."""
    return replace(data, q=np.broadcast_to(data.q[0], data.q.shape))


def one(change):
    """Of the effort of one joint."""
    def spoil(data: Signals) -> Signals:
        tau = data.tau.copy()
        tau[:, STRONGEST] = change(tau[:, STRONGEST])
        return replace(data, tau=tau)
    return spoil


def late(seconds):
    return lambda data: replace(data, tau=np.stack(
        [np.interp(data.t - seconds, data.t, column) for column in data.tau.T], axis=1))


STILL = {
    'at rest': at_rest, 'one joint moves': lambda data: at_rest(data, (3,)), 'frozen': frozen}
TRACED = {
    'late': (late(0.05), 'ms later than the motion they belong to'),
    'dead': (one(np.zeros_like), 'shoulder_pitch: the effort looks like a constant'),
    'wrong sign': (one(np.negative), 'the effort of shoulder_pitch has the wrong sign'),
    'exchanged': (
        lambda data: replace(data, tau=data.tau[:, ::-1]), 'look like those of other joints'),
    'degrees': (lambda data: replace(data, q=np.rad2deg(data.q)), 'look like degrees'),
    'clock': (lambda data: replace(data, t=1.25 * data.t), 'another clock than the motion'),
}


@pytest.mark.parametrize('name', STILL)
def test_64_a_robot_that_hardly_moved_is_never_committable(tmp_path, name):
    said = refused(tmp_path, STILL[name])
    assert ' did not move, so that nothing tells the friction found for them.' in said
    assert ('wrist_roll did not move' in said) is (name != 'one joint moves')


@pytest.mark.parametrize('name', TRACED)
def test_66_a_fault_of_training_and_validation_alike_is_no_good_fit(tmp_path, name):
    spoil, words = TRACED[name]
    assert words in refused(tmp_path, spoil)


def test_64_a_joint_that_moves_in_the_held_out_part_alone_did_not_move(tmp_path):
    data = recorded(1)
    held = (data.t < 0.75 * SECONDS)[:, None] & (np.arange(data.q.shape[1]) == 0)
    still = at_rest(data, (1, 2, 3))
    spoilt = Signals(data.t, np.where(held, still.q, data.q), np.where(held, still.tau, data.tau))
    setup = FitSetup.of(write(tmp_path, 'run', spoilt))
    study = Study.load(setup, holdout=0.25)
    first = ARM.joint_names[0]
    assert study.data.still == (first,)
    reasons = study.fit('entropic').verdict.reasons
    assert any(reason.startswith(f'{first} did not move, so that') for reason in reasons)


@pytest.mark.parametrize('poses', [(0, 0), (0, 400)])
def test_64_recordings_at_rest_in_several_poses_show_no_motion(tmp_path, poses):
    data = recorded(1)
    first, second = (
        write(tmp_path, f'run_{k}', at_rest(Signals(data.t + 60.0 * k, np.roll(
            data.q, -pose, axis=0), data.tau))) for k, pose in enumerate(poses))
    study = Study.load(FitSetup.of(first), others=[second], holdout=0.25)
    assert study.data.still == ARM.joint_names
    assert study.held_out.still == ARM.joint_names


@pytest.mark.parametrize('moving', [(), (3,)])
def test_64_data_to_judge_by_in_which_joints_rest_is_refused_for_that(tmp_path, moving):
    fitted = write(tmp_path, 'fitted', recorded(1))
    other = write(tmp_path, 'other', at_rest(recorded(2), moving))
    verdict = Study.load(FitSetup.of(fitted), validation=other).fit('entropic').verdict
    assert not verdict.committable
    said = ' '.join(verdict.reasons)
    assert 'overfitted' not in said
    assert 'A constant torque would predict' not in said
    if moving:
        assert any('did not move in the data to judge by, which' in each
                   and ARM.joint_names[3] not in each for each in verdict.reasons), said
    else:
        assert 'No joint moved in the data to judge by, which is no evidence' in said
    assert 'Judge by a motion of every joint, as wide as the fitted one.' in verdict.next_steps


def test_64_a_motion_that_was_fitted_is_no_new_one_and_the_verdict_says_so(tmp_path):
    fitted, again = (recorded(1), recorded(1))
    again = replace(again, t=again.t + 100.0, tau=noisy(again.tau, 9, 0.02))
    study = Study.load(
        FitSetup.of(write(tmp_path, 'fitted', fitted)),
        validation=write(tmp_path, 'again', again))
    said = 'The motion it was judged by is one that was fitted, once more'
    assert any(remark.startswith(said) for remark in study.fit('entropic').verdict.remarks)
    other = Study.load(
        FitSetup.of(write(tmp_path, 'fitted', fitted)),
        validation=write(tmp_path, 'other', recorded(2)))
    verdict = other.fit('entropic').verdict
    assert verdict.committable, verdict.reasons
    assert not any(remark.startswith(said) for remark in verdict.remarks)
