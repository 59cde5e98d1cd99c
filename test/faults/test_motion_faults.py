"""FAULTS 1, 5, 12, 14, 18 and 33 to 46 in a session without ROS: clock and robot are of paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.golden_problems import arm_urdf
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks, PlaybackTolerances
from sysid_ros.excitation.playback.outcome import MotionRefused, Outcome
from sysid_ros.excitation.playback.playback import Phase
from sysid_ros.excitation.playback.preparation import prepare, way_in
from sysid_ros.excitation.playback.session import MotionSession, SessionSettings, Step
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

STEP = 0.01


class PaperOutput:
    """Remembers what it was told, and does as the test says."""

    def __init__(self, *, streams=True):
        self.streams, self.holds = streams, False
        self.path, self.sent, self.stops = None, [], 0
        self.absent = self.broken = ''
        self.accepts, self.done = True, streams
        self.first_stop = None

    def problem(self):
        return self.absent

    def begin(self, now, path):
        self.path = path

    def begun(self):
        return self.accepts

    def send(self, now, point, seen):
        self.sent.append(point)

    def stop(self, now, stop):
        assert stop is None or np.isfinite(stop.rest).all()
        self.stops += 1
        self.first_stop = self.first_stop or stop

    def finished(self):
        return self.done

    def failure(self, now):
        return self.broken


class PaperRobot:
    """A session, its clock, and a robot that does what it is told, unless told otherwise."""

    def __init__(self, designer, motion, *, streams=True, **tolerances):
        self.designer, self.output = designer, PaperOutput(streams=streams)
        types = designer.model.robot.joint_types
        self.session = MotionSession(
            designer, self.output,
            PlaybackChecks(designer.limits, types, PlaybackTolerances(**tolerances)),
            SessionSettings())
        self.now, self.points = 100.0, []
        self.prepared = prepare(designer, 'wave', motion)
        self.q, self.v = self.prepared.first.copy(), np.zeros(3)
        self.changes, self.follows, self.ends = {}, True, []

    def seen(self, **changes):
        kept = Observation(self.q, self.v, np.zeros(3), 0.005, 100.0)
        return replace(kept, **self.changes | changes)

    def claim(self, run='wave'):
        self.session.arm(self.now)
        self.session.claim(self.now, run, self.seen())

    def begin(self):
        self.claim()
        way = way_in(self.designer, self.prepared, self.q)
        path = self.prepared.motion.grid(100.0)
        self.session.begin(self.now, self.prepared, way, path, self.seen())

    def run(self, seconds):
        """Tick; the robot follows at once. Returns what it was told."""
        told = []
        for _ in range(round(seconds / STEP)):
            self.now += STEP
            self.session.tick(self.now, self.seen())
            if self.session.point is not None and self.follows:
                self.q, self.v = self.session.point.q, self.session.point.v
            told.append(self.session.point)
            end = self.session.take_end()
            if end:
                self.ends.append(end)
        return told


@pytest.fixture(scope='module')
def designer() -> Designer:
    robot = RobotModel.from_urdf(arm_urdf())
    model, limits = TorqueModel(robot), MotionLimits.of(robot)
    return Designer(model, Information.of(model, limits), limits, FourierBasis(4.0, (1, 2, 3)))


@pytest.fixture(scope='module')
def motion(designer) -> Excitation:
    rest = designer.rest()
    coefficients = rest + 0.6 * (designer.random_motion(rest, 1) - rest)
    return Excitation(designer.limits.joint_names, designer.basis, coefficients)


@pytest.fixture
def robot(designer, motion) -> PaperRobot:
    return PaperRobot(designer, motion)


@pytest.fixture
def far_robot(designer, motion) -> PaperRobot:
    """One whose controller has the whole motion."""
    robot = PaperRobot(designer, motion, streams=False)
    robot.output.done = False
    return robot


def require_rest_after_braking(robot, words):
    """It was a fault, it braked at once, it rests, it says why, and nothing resumes."""
    robot.changes, robot.output.broken = {}, ''
    told = robot.run(1.5)
    assert robot.session.step is Step.FREE
    assert robot.session.phase(robot.now) is Phase.HOLDING
    assert [end.outcome for end in robot.ends] == [Outcome.FAILED]
    assert words in robot.ends[0].message and robot.ends[0].run == 'wave'
    assert 0.0 < robot.ends[0].progress < 1.0
    limits = robot.designer.limits
    soon = (limits.velocity / limits.acceleration + 2.0 * limits.acceleration / limits.jerk).max()
    assert not told[round(soon / STEP) + 1].v.any()
    robot.run(1.0)
    assert robot.session.step is Step.FREE and not robot.v.any()


def test_a_motion_is_played_to_its_end_and_rests(robot):
    robot.begin()
    told = robot.run(5.0)
    assert [end.outcome for end in robot.ends] == [Outcome.OK]
    assert robot.ends[0].progress == 1.0 and robot.ends[0].tracking_error < 0.1
    assert robot.session.phase(robot.now) is Phase.DONE
    np.testing.assert_allclose(robot.session.held, told[-1].q)
    robot.output.holds = True
    assert robot.session.holding


def test_30_permission_is_for_one_motion_and_for_a_while(robot):
    with pytest.raises(MotionRefused, match='has not allowed') as refused:
        robot.session.claim(robot.now, 'wave', robot.seen())
    assert refused.value.outcome is Outcome.NOT_ARMED
    robot.session.arm(robot.now)
    assert robot.session.phase(robot.now) is Phase.ARMED
    with pytest.raises(MotionRefused, match='has not allowed'):
        robot.session.claim(robot.now + 60.1, 'wave', robot.seen())
    robot.begin()
    robot.run(5.0)
    with pytest.raises(MotionRefused, match='has not allowed'):
        robot.session.claim(robot.now, 'wave', robot.seen())


def test_33_a_second_start_is_refused_with_the_running_id_and_nothing_is_queued(robot):
    robot.begin()
    robot.run(1.0)
    for refused in (lambda: robot.session.claim(robot.now, 'second', robot.seen()),
                    lambda: robot.session.arm(robot.now)):
        with pytest.raises(MotionRefused, match=r'under way.*wave') as error:
            refused()
        assert error.value.outcome is Outcome.BUSY
    robot.run(5.0)
    assert [end.run for end in robot.ends] == ['wave'] and robot.session.step is Step.FREE


@pytest.mark.parametrize(('changes', 'words'), [
    ({'bad_in_a_row': 6}, '6 joint states in a row have no finite position'),
    ({'q': np.array([0.0, np.nan, 0.0])}, 'The position of elbow is not finite'),
    ({'clock_resets': 1}, 'The clock of the joint states jumped back'),
    ({'stuck': ('wrist',)}, 'The position of wrist is stuck'),
    ({'publishers': 2}, '2 publishers send joint states'),
    ({'age': 0.15}, 'The last joint state is 0.15 s old; 0.1 s is allowed'),
    ({'monitor_silence': 0.3}, 'The monitor is silent for 0.3 s'),
    ({'monitor_fault': 'The door is open.'}, 'The monitor forbids motion: The door is open.'),
    ({'late': 0.06}, 'A tick was late by 0.06 s; 0.05 s is allowed'),
    ({'effort': np.array([0.0, 150.0, 0.0])}, 'The effort of elbow is 150 N'),
], ids=['01', '01 nan', '12', '14', '18', '37', '43', '43 fault', '45', 'effort'])
def test_what_goes_wrong_in_motion_brakes_the_robot_and_is_said(robot, changes, words):
    robot.begin()
    robot.run(1.0)
    robot.changes = changes
    robot.run(STEP)
    require_rest_after_braking(robot, words)


def test_14_a_joint_that_stopped_dead_before_the_motion_is_given_time_to_move(robot):
    robot.changes = {'stuck': ('waist', 'wrist')}
    robot.begin()
    robot.run(0.1)
    robot.changes = {'stuck': ('wrist',)}
    robot.run(1.0)
    assert robot.session.step is Step.MOVING
    robot.changes = {'stuck': ('waist', 'wrist')}
    robot.run(0.2)
    require_rest_after_braking(robot, 'The position of waist is stuck.')


def test_37_joint_states_may_be_late_by_five_of_their_periods(robot):
    robot.changes = {'rate': 20.0, 'age': 0.2}
    robot.begin()
    robot.run(1.0)
    assert robot.session.step is Step.MOVING
    robot.changes = {'age': 0.3}
    robot.run(STEP)
    require_rest_after_braking(robot, '0.25 s is allowed')


def test_38_a_tracking_error_above_its_bound_brakes_and_is_not_tried_again(robot):
    robot.begin()
    robot.run(1.0)
    robot.changes = {'q': robot.q + np.array([0.0, 0.0, 0.2])}
    robot.run(2 * STEP)
    require_rest_after_braking(robot, 'wrist is 0.2')
    assert robot.ends[0].tracking_error > 0.1


def test_39_when_the_braking_distance_reaches_the_limit_it_stops_before_crossing(designer, motion):
    robot = PaperRobot(designer, motion, tracking_error=10.0)
    robot.begin()
    robot.run(1.0)
    q = robot.q.copy()
    # A joint that runs for its end, as fast as it may.
    limits = designer.limits
    for position in np.arange(0.0, limits.upper[0], 0.02):
        robot.changes = {'q': np.array([position, *q[1:]]),
                         'v': np.array([limits.velocity[0], *robot.v[1:]])}
        robot.run(STEP)
        if robot.session.reason:
            break
    assert position + 0.5 * limits.velocity[0]**2 / limits.acceleration[0] < limits.upper[0]
    require_rest_after_braking(robot, 'cannot stop before')


@pytest.mark.parametrize('streams', [True, False])
def test_44_when_the_controller_goes_away_it_stops_and_never_resumes(designer, motion, streams):
    robot = PaperRobot(designer, motion, streams=streams)
    robot.begin()
    robot.run(1.0)
    robot.output.broken = 'Nobody listens any more.'
    robot.run(STEP)
    require_rest_after_braking(robot, 'Nobody listens any more.')
    assert streams or robot.output.stops


def test_46_what_a_monitor_asks_for_brakes_the_robot(robot):
    robot.begin()
    robot.run(1.0)
    robot.session.fault(robot.now, 'monitor: The torque of elbow is not explained.')
    require_rest_after_braking(robot, 'The torque of elbow is not explained.')


def test_46_what_is_asked_for_again_and_again_is_said_once(robot):
    robot.begin()
    robot.run(1.0)
    for _ in range(10):
        robot.session.fault(robot.now, 'monitor: contact.')
        robot.session.fault(robot.now, 'The monitor is silent.')
    assert robot.session.reason == 'monitor: contact. The monitor is silent.'


@pytest.mark.parametrize(('changes', 'outcome', 'words'), [
    ({'publishers': 2}, Outcome.NOT_SAFE, '2 publishers send joint states; one is allowed'),
    ({'bad_in_a_row': 6}, Outcome.NOT_SAFE, 'no finite position'),
    ({'missing': ('elbow',), 'age': np.inf}, Outcome.NOT_READY, 'No joint state names elbow'),
    ({'missing': ('elbow',), 'unheard': 'QoS of the publisher'}, Outcome.NOT_READY, 'QoS of'),
    ({'age': 3.0}, Outcome.NOT_READY, 'The last joint state is 3 s old'),
    ({'monitor_silence': np.inf}, Outcome.NOT_READY, 'The monitor is not there'),
    ({'monitor_fault': 'It is inactive.'}, Outcome.NOT_READY, 'It is inactive.'),
], ids=['18', '01', '05', '19', '37', '43', '43 inactive'])
def test_what_is_missing_or_unsafe_refuses_the_start(robot, changes, outcome, words):
    robot.changes = changes
    with pytest.raises(MotionRefused, match=words) as refused:
        robot.begin()
    assert refused.value.outcome is outcome
    assert robot.session.step is Step.FREE and robot.output.path is None
    robot.run(0.5)
    assert not robot.output.sent
    # What was missing before anything was looked at may be put right; the permission holds.
    robot.changes = {}
    assert robot.session.armed(robot.now)
    robot.begin()


@pytest.mark.parametrize('changes', [{'publishers': 2}, {'age': 3.0}, {'monitor_silence': 1.0}])
def test_what_goes_missing_while_a_motion_is_verified_refuses_the_start(robot, changes):
    robot.claim()
    robot.changes = changes
    with pytest.raises(MotionRefused):
        robot.session.begin(robot.now, robot.prepared, None, robot.prepared.motion.grid(50.0),
                            robot.seen())
    assert robot.session.step is Step.FREE and not robot.session.armed(robot.now)


def test_34_without_a_controller_it_does_not_start(robot):
    robot.output.absent = 'The controller is absent.'
    with pytest.raises(MotionRefused, match='The controller is absent') as refused:
        robot.begin()
    assert refused.value.outcome is Outcome.NOT_READY


def test_35_a_rejected_goal_ends_with_the_words_of_the_controller(far_robot):
    far_robot.output.accepts = False
    far_robot.begin()
    far_robot.run(0.2)
    assert far_robot.session.step is Step.STARTING and not far_robot.output.sent
    far_robot.output.broken, far_robot.output.done = 'INVALID_JOINTS (-2): no such joint', True
    far_robot.run(0.5)
    assert [(end.outcome, end.message) for end in far_robot.ends] == [
        (Outcome.NOT_READY, 'INVALID_JOINTS (-2): no such joint')]


def test_36_a_motion_without_a_result_is_cancelled(far_robot):
    far_robot.begin()
    far_robot.run(5.0)
    # Played, at rest, and the controller has not said so.
    assert far_robot.session.step is Step.SETTLING and not far_robot.output.stops
    far_robot.output.broken = 'No result.'
    far_robot.run(0.5)
    assert far_robot.output.stops
    assert [end.outcome for end in far_robot.ends] == [Outcome.FAILED]


@pytest.mark.parametrize('streams', [True, False])
def test_40_a_stop_is_accepted_in_every_state_and_once_is_enough(designer, motion, streams):
    robot = PaperRobot(designer, motion, streams=streams)
    session = robot.session
    session.stop(robot.now, 'nothing moves')
    session.arm(robot.now)
    session.stop(robot.now, 'not today')
    assert not session.armed(robot.now)
    robot.claim()
    session.stop(robot.now, 'while it is verified', Outcome.CANCELLED)
    with pytest.raises(MotionRefused, match='while it is verified') as refused:
        session.begin(robot.now, robot.prepared, None, robot.prepared.motion.grid(50.0),
                      robot.seen())
    assert refused.value.outcome is Outcome.CANCELLED
    robot.begin()
    robot.run(1.0)
    session.stop(robot.now, 'in mid-motion')
    session.stop(robot.now + 0.5 * STEP, 'again')
    robot.run(3.0)
    assert [(end.outcome, end.message) for end in robot.ends] == [
        (Outcome.STOPPED, 'in mid-motion')]
    session.stop(robot.now, 'at rest')
    assert session.step is Step.FREE and session.phase(robot.now) is Phase.HOLDING


def test_40_a_stop_succeeds_only_when_the_measured_velocity_is_small(robot):
    robot.begin()
    robot.run(1.0)
    robot.session.stop(robot.now, 'in mid-motion')
    robot.changes = {'v': np.array([0.0, 0.0, 1.0])}
    robot.run(2.5)
    assert robot.session.phase(robot.now) is Phase.STOPPING and not robot.ends
    robot.run(2.0)
    # It is said that it does not rest, and that is not the end.
    assert [end.outcome for end in robot.ends] == [Outcome.FAILED]
    assert 'not seen to be at rest' in robot.ends[0].message
    assert robot.session.step is Step.SETTLING
    robot.changes = {}
    robot.run(0.5)
    assert robot.session.step is Step.FREE and len(robot.ends) == 1


def test_40_a_goal_is_taken_back_again_and_again_until_the_robot_rests(far_robot):
    far_robot.begin()
    far_robot.run(1.0)
    far_robot.changes = {'v': np.array([0.5, 0.0, 0.0])}
    far_robot.session.stop(far_robot.now, 'in mid-motion')
    far_robot.run(2.0)
    assert far_robot.output.stops > 150 and not far_robot.ends
    far_robot.changes = {}
    far_robot.run(0.5)
    assert [end.outcome for end in far_robot.ends] == [Outcome.STOPPED]


@pytest.mark.parametrize('silent', [False, True])
def test_37_a_stop_begins_where_the_robot_is_and_at_the_set_point_where_that_is_not_known(
    far_robot, silent
):
    far_robot.begin()
    far_robot.run(1.0)
    measured = far_robot.q + np.array([0.02, 0.0, 0.0])
    far_robot.changes = {'q': measured, 'age': 1.0} if silent else {'q': measured}
    if not silent:
        far_robot.session.stop(far_robot.now, 'in mid-motion')
    # The state is as old as it was when it was measured; the set-point goes on.
    point, = far_robot.run(STEP)
    begun = far_robot.output.first_stop.sample(np.zeros(1)).q[0]
    np.testing.assert_array_equal(begun, point.q if silent else measured)
    assert np.abs(point.q - measured).max() > 0.01


def test_a_short_stop_stays_on_the_path_and_a_long_one_brakes(designer, motion):
    for longest, braking in ((10.0, False), (0.0, True)):
        robot = PaperRobot(designer, motion)
        robot.session.adjust(
            PlaybackChecks(designer.limits, designer.model.robot.joint_types),
            SessionSettings(path_stop=longest))
        robot.begin()
        robot.run(1.0)
        robot.session.stop(robot.now, 'enough')
        robot.run(2.0)
        distance = np.abs(motion.grid(1000.0).q - robot.session.point.q).max(axis=1).min()
        assert braking or distance < 2e-3
        # After braking it does not claim to know where the robot rests.
        assert (robot.session.held is None) is braking


def test_the_margin_is_the_part_of_the_range_that_is_left_after_braking(designer):
    limits = designer.limits
    checks = PlaybackChecks(limits, designer.model.robot.joint_types)
    q = np.array([0.0, 0.0, limits.upper[2] - 0.3])
    rest = Observation(q, np.zeros(3), np.zeros(3), 0.0)
    assert checks.margin(rest, np.zeros(3)) == pytest.approx(0.3 / (2.0 * limits.reach[2]))
    moving = replace(rest, v=np.array([0.0, 0.0, 1.0]))
    assert checks.margin(moving, np.zeros(3)) < checks.margin(rest, np.zeros(3))


def test_the_whole_path_is_told_before_it_is_played(far_robot):
    far_robot.begin()
    assert isinstance(far_robot.output.path, Motion)
    assert far_robot.output.path.t[-1] == pytest.approx(4.0)


def test_28_settings_are_not_changed_under_a_motion(robot):
    checks = PlaybackChecks(
        robot.designer.limits, robot.designer.model.robot.joint_types,
        PlaybackTolerances(tracking_error=10.0))
    robot.begin()
    robot.run(1.0)
    with pytest.raises(MotionRefused, match=r'under way.*wave') as refused:
        robot.session.adjust(checks, SessionSettings(arm_timeout=1.0))
    assert refused.value.outcome is Outcome.BUSY
    # What held before holds still.
    robot.changes = {'q': robot.q + np.array([0.0, 0.0, 0.2])}
    robot.run(2 * STEP)
    require_rest_after_braking(robot, 'wrist is 0.2')
    robot.session.adjust(checks, SessionSettings(arm_timeout=1.0))
    robot.session.arm(robot.now)
    assert robot.session.armed(robot.now + 0.9) and not robot.session.armed(robot.now + 1.0)
