"""Playing a motion from rest to rest, with stops anywhere on the way. FAULTS 31 and 33."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.design.basis import Basis, ChirpBasis, FourierBasis, QuinticBasis
from sysid_ros.excitation.design.constraints import Constraint
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.design.strokes import CruiseBasis, LiftAndDropBasis, TriangleBasis
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.geometry.clearance import Box, BoxClearance
from sysid_ros.excitation.geometry.shapes import capsules_of
from sysid_ros.excitation.playback.playback import Phase, Playback
from sysid_ros.excitation.playback.preparation import (
    blend,
    prepare,
    sampled_path,
    slowed,
    stopping_time,
    way_in,
)
from sysid_ros.excitation.safety.limit_monitor import LimitMonitor
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.verification import verify
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.kinematics import body_poses

STEP = 0.005


@pytest.fixture(scope='module')
def designer(model: TorqueModel, limits: MotionLimits) -> Designer:
    return Designer(model, Information.of(model, limits), limits, FourierBasis(4.0, (1, 2, 3)))


@pytest.fixture(scope='module')
def motion(designer: Designer) -> Excitation:
    """A random motion that meets its first limit."""
    rest = designer.rest()
    coefficients = rest + 0.99 * (designer.random_motion(rest, 1) - rest)
    return Excitation(designer.limits.joint_names, designer.basis, coefficients)


def first(motion: Excitation) -> np.ndarray:
    return motion.sample(np.zeros(1)).q[0]


def play(playback: Playback, begin: float, end: float) -> list:
    return [playback.tick(now) for now in np.arange(begin, end, STEP)]


def test_it_blends_in_plays_to_the_end_and_holds(designer: Designer, motion: Excitation) -> None:
    playback = Playback(designer)
    assert playback.tick(0.0) is None
    playback.arm('first', motion)
    assert playback.phase is Phase.ARMED and playback.tick(1.0) is None
    start = first(motion) + np.array([0.2, -0.1, 0.3])
    end = playback.start(5.0, start, np.zeros(3))
    points = play(playback, 5.0, end + 0.1)
    phases = [point.phase for point in points]
    assert list(dict.fromkeys(phases)) == [Phase.BLENDING, Phase.PLAYING, Phase.DONE]
    np.testing.assert_allclose(points[0].q, start, atol=1e-12)
    np.testing.assert_allclose(points[-1].q, motion.sample(np.array([motion.duration])).q[0])
    assert not points[-1].v.any() and not points[-1].a.any()
    progress = [point.progress for point in points]
    assert progress == sorted(progress) and progress[-1] == 1.0
    _require_smooth(designer, points)


def test_from_the_beginning_of_the_motion_it_plays_at_once(
    designer: Designer, motion: Excitation
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    assert playback.start(2.0, first(motion), np.zeros(3)) == 2.0 + motion.duration
    play(playback, 2.0, 2.0 + 0.4 * motion.duration)
    point = playback.tick(2.0 + 0.4 * motion.duration)
    expected = motion.sample(np.array([0.4 * motion.duration]))
    np.testing.assert_allclose([point.q, point.v, point.a],
                               [expected.q[0], expected.v[0], expected.a[0]])


@pytest.mark.parametrize('when', [0.05, 0.5, 1.7, 2.5, 3.6, 4.4])
def test_a_stop_anywhere_stays_on_the_path_and_within_the_limits(
    designer: Designer, motion: Excitation, when: float
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    end = playback.start(0.0, first(motion) + 0.3, np.zeros(3))
    points = play(playback, 0.0, when)
    playback.stop(when, 'somebody pressed the button')
    playback.stop(when + 0.01, 'again')
    points += play(playback, when, end + 1.0)
    assert playback.reason == 'somebody pressed the button'
    assert points[-1].phase is Phase.HOLDING
    assert not points[-1].v.any()
    _require_smooth(designer, points)
    rest = next(k for k, point in enumerate(points) if point.phase is Phase.HOLDING)
    assert rest * STEP - when <= 1.0
    ways = [motion.grid(2000.0).q, blend(designer.limits, points[0].q, first(motion)).grid(500.0).q]
    path = np.vstack(ways)
    for point in points[::20]:
        assert np.abs(path - point.q).max(axis=1).min() < 2e-3


def _require_smooth(designer: Designer, points: list) -> None:
    """Set-points belong together, and keep the limits of velocity, acceleration and torque."""
    q, v, a = (np.array([getattr(point, name) for point in points]) for name in 'qva')
    limits, model = designer.limits, designer.model
    assert np.abs(np.diff(q, axis=0) / STEP - 0.5 * (v[1:] + v[:-1])).max() < 2e-3
    assert np.abs(np.diff(v, axis=0) / STEP - 0.5 * (a[1:] + a[:-1])).max() < 0.1
    torque = model.torque(model.parameters.prior, q, v, a)
    for values, bound in ((v, limits.velocity), (a, limits.acceleration), (torque, limits.effort)):
        assert (np.abs(values) <= bound).all()


def test_the_course_of_a_stop_has_the_derivatives_it_claims() -> None:
    x = np.linspace(0.0, 1.0, 2001)
    advance, rate, slope = slowed(x)
    np.testing.assert_allclose(np.gradient(advance, x)[1:-1], rate[1:-1], atol=1e-5)
    np.testing.assert_allclose(np.gradient(rate, x)[1:-1], slope[1:-1], atol=1e-4)
    assert (advance[0], rate[0], rate[-1], advance[-1]) == pytest.approx((0.0, 1.0, 0.0, 0.5))


@pytest.mark.parametrize('jump', [0.5, 20.0, -0.3])
def test_when_time_jumps_the_path_goes_on_where_it_was_and_ends(
    designer: Designer, motion: Excitation, jump: float
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    playback.start(0.0, first(motion), np.zeros(3))
    points = play(playback, 0.0, 1.5)
    points += play(playback, 1.5 + jump, 4.0 + jump)
    assert 'no tick for' in playback.reason
    assert points[-1].phase is Phase.HOLDING
    steps = np.abs(np.diff([point.q for point in points], axis=0))
    # No step is longer than what the longest gap that is allowed lets pass.
    assert (steps <= 0.11 * designer.limits.velocity).all()


@pytest.mark.parametrize('when', [0.05, 0.5, 1.7, 2.5, 3.6])
def test_braking_anywhere_is_smooth_soon_and_within_the_limits(
    designer: Designer, motion: Excitation, when: float
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    playback.start(0.0, first(motion) + 0.3, np.zeros(3))
    points = play(playback, 0.0, when)
    playback.brake(when, 'a fault')
    playback.brake(when + 0.01, 'again')
    points += play(playback, when, when + 2.0)
    assert playback.reason == 'a fault' and playback.braking
    assert points[-1].phase is Phase.HOLDING and not points[-1].v.any()
    rest = next(k for k, point in enumerate(points) if point.phase is Phase.HOLDING)
    limits = designer.limits
    slowest = limits.velocity / limits.acceleration + 2.0 * limits.acceleration / limits.jerk
    assert rest * STEP - when <= slowest.max() + STEP
    q, v, a = (np.array([getattr(point, name) for point in points]) for name in 'qva')
    assert np.abs(np.diff(q, axis=0) / STEP - 0.5 * (v[1:] + v[:-1])).max() < 2e-3
    assert (np.abs(np.diff(a, axis=0)) <= 3.0 * limits.jerk * STEP).all()
    assert (np.abs(a) <= (1.0 + 1e-12) * limits.acceleration).all()
    assert ((q >= limits.lower) & (q <= limits.upper)).all()
    progress = [point.progress for point in points]
    assert progress == sorted(progress)


def test_a_fault_during_a_stop_along_the_path_brakes(
    designer: Designer, motion: Excitation
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    playback.start(0.0, first(motion), np.zeros(3))
    points = play(playback, 0.0, 1.0)
    playback.stop(1.0, 'Somebody pressed the button.')
    points += play(playback, 1.0, 1.05)
    assert not playback.braking
    playback.brake(1.05, 'And then it broke.')
    assert playback.braking
    assert playback.reason == 'Somebody pressed the button. And then it broke.'
    points += play(playback, 1.05, 3.0)
    assert points[-1].phase is Phase.HOLDING
    accelerations = np.array([point.a for point in points])
    assert (np.abs(accelerations) <= (1.0 + 1e-12) * designer.limits.acceleration).all()


def test_braking_is_accepted_in_every_state(designer: Designer, motion: Excitation) -> None:
    playback = Playback(designer)
    playback.brake(0.0, 'nothing moves')
    assert playback.phase is Phase.IDLE
    playback.arm('first', motion)
    playback.brake(0.0, 'not today')
    assert playback.phase is Phase.IDLE and playback.reason == 'not today'
    playback.arm('first', motion)
    end = playback.start(0.0, first(motion), np.zeros(3))
    play(playback, 0.0, end + 0.1)
    playback.brake(end + 0.1, 'too late')
    assert playback.phase is Phase.DONE and playback.reason == ''


def test_when_time_jumps_while_it_brakes_it_goes_on_braking(
    designer: Designer, motion: Excitation
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    playback.start(0.0, first(motion), np.zeros(3))
    play(playback, 0.0, 1.5)
    playback.brake(1.5, 'a fault')
    before = playback.tick(1.51)
    after = playback.tick(7.0)
    assert (np.abs(after.q - before.q) <= 0.11 * designer.limits.velocity).all()
    assert play(playback, 7.01, 8.0)[-1].phase is Phase.HOLDING


def test_a_robot_that_moved_since_its_way_was_verified_does_not_start(
    designer: Designer, motion: Excitation
) -> None:
    playback, prepared = Playback(designer), prepare(designer, 'first', motion)
    way = way_in(designer, prepared, first(motion) + 0.3)
    playback.load(prepared)
    with pytest.raises(ExcitationError, match='not where the motion begins'):
        playback.begin(0.0, way, first(motion) + 0.4, np.zeros(3))
    playback.begin(0.0, way, first(motion) + 0.4, np.zeros(3), near=0.2 * np.ones(3))
    assert playback.phase is Phase.BLENDING


def test_the_way_in_and_the_motion_are_one_path(designer: Designer, motion: Excitation) -> None:
    prepared = prepare(designer, 'first', motion)
    start = first(motion) + 0.3
    way = way_in(designer, prepared, start)
    path = sampled_path(prepared, way, 100.0)
    assert path.t[-1] == pytest.approx(way.motion.duration + motion.duration)
    assert (np.diff(path.t) > 0.0).all() and np.diff(path.t).max() <= 0.01 + 1e-12
    np.testing.assert_allclose(path.q[0], start, atol=1e-12)
    assert verify(designer.model, designer.limits, path).allowed
    assert way_in(designer, prepared, first(motion)) is None
    np.testing.assert_array_equal(sampled_path(prepared, None, 100.0).q, motion.grid(100.0).q)
    with pytest.raises(ExcitationError, match='position of the robot is not known'):
        way_in(designer, prepared, np.full(3, np.nan))


def test_a_robot_that_a_stop_left_in_the_margin_may_leave_it_but_not_from_beyond_the_limit(
    designer: Designer, motion: Excitation
) -> None:
    limits, prepared = designer.limits, prepare(designer, 'first', motion)
    margin = designer.settings.margin * limits.reach[1]
    q = first(motion)
    q[1] = limits.lower[1] + 0.5 * margin
    way = way_in(designer, prepared, q)
    assert way is not None
    np.testing.assert_allclose(way.first, q, atol=1e-12)
    assert not designer.verify(designer.dense(way.motion)).allowed
    # Nor may it go deeper into the margin.
    q[1] += 0.1 * margin
    assert not designer.verify(designer.dense(way.motion), resting=q).allowed
    q[1] = limits.lower[1] - 0.1 * margin
    with pytest.raises(ExcitationError, match='the way to the beginning of the motion is not free'):
        way_in(designer, prepared, q)


def test_30_a_motion_whose_joints_could_not_be_braked_within_their_range_is_refused(
    designer: Designer, motion: Excitation
) -> None:
    prepare(designer, 'calm', motion, reaction_time=0.05)
    with pytest.raises(ExcitationError, match='could not be braked within its range'):
        prepare(designer, 'blind', motion, reaction_time=3.0)


@pytest.mark.parametrize(('basis', 'speed'), [
    (FourierBasis(4.0, (1, 2, 3)), 0.05), (FourierBasis(30.0, (1, 2, 20)), 1.0),
    (QuinticBasis(6.0, 6), 1.0), (ChirpBasis(20.0), 0.3), (TriangleBasis(12.0), 1.0),
    (CruiseBasis(20.0), 1.0), (LiftAndDropBasis(15.0), 0.5),
], ids=['slow', 'long', 'quintic', 'chirp', 'triangle', 'cruise', 'lift_and_drop'])
def test_every_stop_is_within_the_limits_on_a_finer_grid(
    designer: Designer, basis: Basis, speed: float
) -> None:
    search = replace(designer, basis=basis)
    rest = search.rest()
    coefficients = rest + 0.99 * (search.random_motion(rest, 2) - rest)
    motion = Excitation(search.limits.joint_names, basis, coefficients, speed)
    time, limits = stopping_time(search, motion), search.limits
    x = np.linspace(0.0, 1.0, 173)
    advance, rate, slope = slowed(x)
    for begin in np.random.default_rng(0).uniform(0.0, motion.duration, 400):
        sample = motion.sample(np.minimum(begin + time * advance, motion.duration))
        v = rate[:, None] * sample.v
        a = rate[:, None]**2 * sample.a + (slope / time)[:, None] * sample.v
        assert (np.abs(a) <= limits.acceleration).all()
        jerk = np.diff(a, axis=0) / (time * (x[1] - x[0]))
        assert (np.abs(jerk) <= 3.2 * limits.jerk).all()
        torque = search.model.torque(search.model.parameters.prior, sample.q, v, a)
        assert (np.abs(torque) <= limits.effort).all()


@pytest.mark.parametrize('basis', [
    FourierBasis(6.0), QuinticBasis(6.0), ChirpBasis(6.0), TriangleBasis(6.0), CruiseBasis(12.0),
    LiftAndDropBasis(12.0)], ids=lambda basis: basis.name)
def test_what_is_designed_can_be_armed_and_does_not_alarm_the_monitor(
    designer: Designer, basis: Basis
) -> None:
    settings = DesignSettings(starts=1, iterations=20)
    search = replace(designer, basis=basis, settings=settings)
    motion = search.design()
    Playback(search).arm('designed', motion)
    monitor = LimitMonitor(search.limits, search.model.robot.joint_types)
    points = motion.grid(50.0)
    for k in range(len(points.t)):
        assert monitor.findings(
            points.q[k], points.v[k], a=points.a[k], commanded=points.q[k], age=0.01) == ()


def test_gentler_motions_stop_sooner(designer: Designer, motion: Excitation) -> None:
    assert stopping_time(designer, motion.at_speed(0.5)) < stopping_time(designer, motion)


def test_33_a_second_start_is_refused_with_the_name_of_the_first(
    designer: Designer, motion: Excitation
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    playback.start(0.0, first(motion), np.zeros(3))
    for refused in (lambda: playback.arm('second', motion),
                    lambda: playback.start(0.1, first(motion), np.zeros(3))):
        with pytest.raises(ExcitationError, match='another motion is being played.*first'):
            refused()
    assert playback.run == 'first' and playback.phase is Phase.PLAYING


def test_nothing_is_played_that_was_not_armed(designer: Designer, motion: Excitation) -> None:
    playback = Playback(designer)
    with pytest.raises(ExcitationError, match='no motion is armed'):
        playback.start(0.0, first(motion), np.zeros(3))
    playback.arm('first', motion)
    playback.stop(0.0, 'not today')
    assert playback.phase is Phase.IDLE and playback.reason == 'not today'
    with pytest.raises(ExcitationError, match='no motion is armed'):
        playback.start(0.0, first(motion), np.zeros(3))


def test_a_motion_that_must_not_be_played_cannot_be_armed(
    designer: Designer, motion: Excitation
) -> None:
    playback = Playback(designer)
    with pytest.raises(ExcitationError, match='must not be played'):
        playback.arm('fast', motion.at_speed(2.0))
    playback.arm('good', motion)
    with pytest.raises(ExcitationError, match='another robot'):
        playback.arm('foreign', replace(motion, joint_names=('a', 'b', 'c')))
    assert playback.phase is Phase.IDLE
    with pytest.raises(ExcitationError, match='no motion is armed'):
        playback.start(0.0, first(motion), np.zeros(3))


@pytest.mark.parametrize(('q', 'v'), [
    ([0.0, float('nan'), 0.0], [0.0, 0.0, 0.0]), ([0.0, 0.0, 0.0], [0.0, 0.5, 0.0]),
    ([0.0, 0.0, 0.0], [float('nan'), 0.0, 0.0]),
])
def test_a_robot_that_moves_or_is_not_seen_does_not_start(
    designer: Designer, motion: Excitation, q: list, v: list
) -> None:
    playback = Playback(designer)
    playback.arm('first', motion)
    with pytest.raises(ExcitationError, match='not at rest'):
        playback.start(0.0, np.array(q), np.array(v))
    assert playback.phase is Phase.ARMED


def test_31_the_way_to_the_beginning_is_refused_where_something_stands(
    designer: Designer, motion: Excitation
) -> None:
    far = first(motion) + np.array([0.0, 0.0, 0.0])
    far[0] += 1.2
    capsules = capsules_of(designer.model.robot)
    wall = _between(designer, capsules, first(motion), far)
    playback = Playback(replace(designer, obstacles=(wall,)))
    quiet = replace(motion, coefficients=np.outer(motion.basis.pose, first(motion)))
    playback.arm('still', quiet)
    with pytest.raises(ExcitationError, match='the way to the beginning of the motion is not free'):
        playback.start(0.0, far, np.zeros(3))
    assert playback.phase is Phase.ARMED


def _between(
    designer: Designer, capsules: tuple, near: np.ndarray, far: np.ndarray
) -> Constraint:
    """A small box where the arm's end passes half-way."""
    pose = body_poses(designer.model.robot, 0.5 * (near + far)[None])
    end = capsules[-1]
    point = pose.points(np.array([end.body]), np.array([end.end]))[0, 0]
    box = Box('post', tuple(point - 0.01), tuple(point + 0.01))
    return BoxClearance((end,), (box,), 0.0)
