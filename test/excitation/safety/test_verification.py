"""FAULTS 30 and 32: a motion that the robot must not play is refused before anything is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.geometry.clearance import Box, KeepIn
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.verification import predicted_torque, resampled, verify
from sysid_ros.mechanics.torque_model import TorqueModel


@pytest.fixture(scope='module')
def excitation(model: TorqueModel, limits: MotionLimits) -> Excitation:
    settings = DesignSettings(starts=1, iterations=30)
    information = Information.of(model, limits)
    return Designer(model, information, limits, FourierBasis(5.0), settings).design()


@pytest.fixture(scope='module')
def motion(excitation: Excitation) -> Motion:
    return excitation.grid(500.0)


def test_a_design_passes_and_says_what_it_uses(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    verification = verify(model, limits, motion)
    assert verification.allowed
    verification.require()
    assert max(used.max() for used in verification.used.values()) == pytest.approx(0.95, abs=0.05)


def changed(motion: Motion, **changes: object) -> Motion:
    return replace(motion, **changes)


def spoiled(values: np.ndarray, index: tuple, value: float) -> np.ndarray:
    copy = values.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize(('spoil', 'words'), [
    (lambda m: {'q': spoiled(m.q, (7, 1), np.nan)}, 'position of elbow is not finite at sample 7'),
    (lambda m: {'jerk': spoiled(m.jerk, (0, 0), np.inf)}, 'jerk of waist is not finite'),
    (lambda m: {'v': m.v[:, :2]}, 'velocity has shape'),
    (lambda m: {'t': m.t[::-1].copy()}, 'times do not rise'),
    (lambda m: {'t': m.t * 100.0}, 'apart'),
    (lambda m: {'q': m.q + 0.2 * (m.t > 2.0)[:, None]}, 'position of .* jumps at 2.0'),
    (lambda m: {'v': m.v + 0.5 * (m.t > 2.0)[:, None]}, 'velocity of .* jumps'),
    (lambda m: {'q': m.q + 4.0}, 'position of .* rad is allowed'),
])
def test_what_is_wrong_is_named(
    model: TorqueModel, limits: MotionLimits, motion: Motion, spoil, words: str
) -> None:
    verification = verify(model, limits, changed(motion, **spoil(motion)))
    assert not verification.allowed
    with pytest.raises(ExcitationError, match=words):
        verification.require()


@pytest.mark.parametrize(('quantity', 'words'), [
    ('velocity', 'velocity of'), ('acceleration', 'acceleration of'), ('jerk', 'jerk of'),
    ('effort', 'effort of'),
])
def test_every_limit_is_checked(
    model: TorqueModel, limits: MotionLimits, motion: Motion, quantity: str, words: str
) -> None:
    tight = replace(limits, **{quantity: 0.01 * getattr(limits, quantity)})
    findings = ' '.join(verify(model, tight, motion).findings)
    assert words in findings


def test_a_motion_that_is_too_fast_passes_when_slower(
    model: TorqueModel, limits: MotionLimits, excitation: Excitation
) -> None:
    assert not verify(model, limits, excitation.at_speed(1.5).grid(1000.0)).allowed
    assert verify(model, limits, excitation.at_speed(0.7).grid(1000.0)).allowed


def test_a_motion_that_does_not_end_at_rest_is_refused(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    half = slice(0, len(motion.t) // 3)
    cut = Motion(*(getattr(motion, name)[half] for name in ('t', 'q', 'v', 'a', 'jerk')))
    assert any('does not end at rest' in finding for finding in
               verify(model, limits, cut).findings)


def test_a_motion_that_ends_in_acceleration_is_refused(
    model: TorqueModel, limits: MotionLimits
) -> None:
    # Velocity is zero at both ends of 1 - cos, acceleration is not.
    t = np.linspace(0.0, 2.0, 2001)[:, None]
    waves = [np.tile(x, (1, 3)) for x in (
        0.3 * (1.0 - np.cos(np.pi * t)), 0.3 * np.pi * np.sin(np.pi * t),
        0.3 * np.pi**2 * np.cos(np.pi * t), -0.3 * np.pi**3 * np.sin(np.pi * t))]
    findings = verify(model, limits, Motion(t[:, 0], *waves)).findings
    assert sum('at rest' in finding for finding in findings) == 2


def test_a_torque_that_cannot_be_predicted_is_refused(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    wild = changed(motion, a=np.full_like(motion.a, 1e308))
    with np.errstate(over='ignore', invalid='ignore'):
        assert 'torque is not finite' in verify(model, limits, wild).findings[0]


def test_a_motion_is_filled_in_between_its_samples(excitation: Excitation) -> None:
    coarse, fine = excitation.grid(40.0), excitation.grid(1000.0)
    filled = resampled(coarse, 1000.0)
    np.testing.assert_allclose(filled.t, fine.t, atol=1e-12)
    for name, accuracy in (('q', 1e-6), ('v', 1e-5), ('a', 1e-3), ('jerk', 0.1)):
        np.testing.assert_allclose(getattr(filled, name), getattr(fine, name), atol=accuracy)


def test_a_box_that_is_left_is_named(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    cell = KeepIn(2, (0.3, 0.0, 0.0), Box('cell', (-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)))
    verification = verify(model, limits, motion, [cell])
    assert verification.clearance < 0.0
    assert 'of cell is not kept' in ' '.join(verification.findings)


def still(motion: Motion, step: float = 0.002) -> Motion:
    """At rest where a motion begins, for 25 steps."""
    t = step * np.arange(26)
    return Motion(t, np.tile(motion.q[0], (26, 1)), *np.zeros((3, 26, motion.q.shape[1])))


def test_a_robot_that_rests_is_allowed_to(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    assert verify(model, limits, still(motion)).findings == ()
    assert verify(model, limits, still(motion, 0.05)).findings == ()
    assert 'up to 0.051 s apart' in verify(model, limits, still(motion, 0.051)).findings[0]


@pytest.mark.parametrize(('part', 'words'), [(0.9, ''), (1.1, 'It does not {} at rest: elbow.')])
def test_32_a_thousandth_of_the_speed_is_rest_and_a_hundredth_of_the_acceleration(
    model: TorqueModel, limits: MotionLimits, motion: Motion, part: float, words: str
) -> None:
    rest, elbow = still(motion), np.array([0.0, 1.0, 0.0])
    expected = [words.format(end) for end in ('begin', 'end')] if words else []
    v = 1e-3 * part * limits.velocity * elbow
    drifting = replace(rest, q=rest.q + rest.t[:, None] * v, v=rest.v + v)
    assert list(verify(model, limits, drifting).findings) == expected
    a = 1e-2 * part * limits.acceleration * elbow
    # Slow enough in its middle, and so at both ends.
    t = (rest.t - rest.t.mean())[:, None]
    turning = replace(rest, q=rest.q + 0.5 * t**2 * a, v=t * a, a=rest.a + a)
    assert list(verify(model, limits, turning).findings) == expected


@pytest.mark.parametrize(('part', 'jumps'), [(1.4, False), (1.6, True)])
def test_30_samples_may_differ_by_what_derivatives_allow_and_half_of_it(
    model: TorqueModel, limits: MotionLimits, motion: Motion, part: float, jumps: bool
) -> None:
    rest, wrist = still(motion), np.array([0.0, 0.0, 1.0])
    step = rest.t[1] - rest.t[0]
    later = (np.arange(26) > 10)[:, None]
    at = (np.arange(26) == 10)[:, None]
    moved = replace(rest, q=rest.q + later * part * step**2 * limits.acceleration * wrist)
    pushed = replace(rest, v=rest.v + at * part * step**2 * limits.jerk * wrist)
    for spoilt, quantity in ((moved, 'position'), (pushed, 'velocity')):
        found = verify(model, limits, spoilt).findings
        assert bool(found) is jumps
        assert all(f'The {quantity} of wrist jumps' in each for each in found)


def test_two_samples_are_a_motion_and_one_is_none(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    names = ('t', 'q', 'v', 'a', 'jerk')
    rest = still(motion)
    for count, findings in ((2, ()), (1, ('The times do not rise from sample to sample.',))):
        few = Motion(*(getattr(rest, name)[:count] for name in names))
        found = verify(model, limits, few)
        assert found.findings == findings and found.allowed is not bool(findings)
    twice = replace(rest, t=np.where(np.arange(26) == 7, rest.t[6], rest.t))
    assert verify(model, limits, twice).findings[0] == findings[0]


def test_a_motion_uses_the_parts_of_limits_that_it_reaches(
    model: TorqueModel, limits: MotionLimits, motion: Motion
) -> None:
    found = verify(model, limits, motion)
    tau = model.torque(model.parameters.prior, motion.q, motion.v, motion.a)
    for name, values, most in (
        ('position', motion.q - limits.centre, limits.reach),
        ('velocity', motion.v, limits.velocity), ('acceleration', motion.a, limits.acceleration),
        ('jerk', motion.jerk, limits.jerk), ('effort', tau, limits.effort),
    ):
        np.testing.assert_allclose(found.used[name], np.abs(values).max(axis=0) / most)
    assert found.clearance == np.inf
    endless = replace(limits, upper=np.array([np.inf, *limits.upper[1:]]))
    assert verify(model, endless, motion).used['position'][0] == 0.0


def test_the_torque_of_a_long_motion_is_that_of_its_parts(
    model: TorqueModel, motion: Motion
) -> None:
    names = ('t', 'q', 'v', 'a', 'jerk')
    long = Motion(*(np.concatenate(3 * [getattr(motion, name)]) for name in names))
    assert len(long.t) > 5000
    np.testing.assert_array_equal(
        predicted_torque(model, long), np.tile(predicted_torque(model, motion), (3, 1)))
