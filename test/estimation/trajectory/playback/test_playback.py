"""Stiffness of what an arm bends, from its own sensors: gradients, searches, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from support import flexible_experiment as experiment
from support.variational_systems import closed_configuration, geometric_ratio
from sysid_ros.errors import (
    ConfigurationError,
    EstimationError,
    ModelError,
    RecordingError,
)
from sysid_ros.estimation.trajectory.playback.costs import JointAngles
from sysid_ros.estimation.trajectory.playback.end_effector import (
    EndEffectorPose,
    EndEffectorPosition,
    link_places,
)
from sysid_ros.estimation.trajectory.playback.gains import gain_advice, lqr_hold
from sysid_ros.estimation.trajectory.playback.identified import identified
from sysid_ros.estimation.trajectory.playback.problem import FreeParameter
from sysid_ros.estimation.trajectory.playback.search import (
    LineSearch,
    SearchStatus,
    gauss_newton,
    lbfgs,
    steepest_descent,
)
from sysid_ros.mechanics.integrators.variational.assembly import constraints
from sysid_ros.mechanics.integrators.variational.driven_trajectory import (
    DrivenTrajectory,
    Hold,
    MotionStatus,
)
from sysid_ros.mechanics.integrators.variational.resting import resting
from sysid_ros.mechanics.integrators.variational.system import discrete_system
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

TRUTH = experiment.TRUTH
# A shorter loop and recording than in the paper; the whole is in benchmarks/flexible_loop.py.
LINKS, SECONDS = 6, 6.0


@pytest.fixture(scope='module')
def table():
    return experiment.bench(LINKS, damping=0.05)


@pytest.fixture(scope='module')
def real(table):
    return experiment.truth(table, seconds=SECONDS)


@pytest.fixture(scope='module')
def playback(table, real):
    return experiment.recorded(table, real, 0)


@pytest.fixture(scope='module')
def problem(table, playback):
    return experiment.problem_of(table, playback)


@pytest.fixture(scope='module')
def found(problem):
    return gauss_newton(problem)


def test_the_stiffness_is_found_from_far_away(found):
    assert found.status is SearchStatus.CONVERGED
    np.testing.assert_allclose(found.values, TRUTH, rtol=0.02)
    result = identified(found)
    intervals = result.intervals(0.999)
    assert (intervals[:, 0] < TRUTH).all()
    assert (intervals[:, 1] > TRUTH).all()
    assert (result.relative_deviation < 0.02).all()
    assert gain_advice(result) == ()
    # White noise of the joints is what is left.
    assert found.point.cost == pytest.approx(0.5 * 7 * (SECONDS * 100 + 1), rel=0.1)


@pytest.mark.parametrize('search', [lbfgs, steepest_descent])
def test_descent_by_the_adjoint_comes_to_the_same_place(search, problem, found):
    other = search(problem, max_iterations=60, tolerance=1e-5)
    assert other.status in (SearchStatus.CONVERGED, SearchStatus.ITERATION_LIMIT)
    rate = 1e-3 if search is lbfgs else 0.05
    np.testing.assert_allclose(other.values, found.values, rtol=rate)
    costs = [step.cost for step in other.steps]
    assert (np.diff(costs) < 0.0).all()


POINT = np.array([0.0, 0.02, 0.05])


def end_effector(table, real, kind=EndEffectorPosition, terminal=1.0):
    """Where a point of the gripper was, or also how that was turned."""
    robot = table.robot.opened
    places = link_places(
        robot, 'gripper', POINT, real.motion.positions[::experiment.TRUE_STEPS])
    if kind is EndEffectorPosition:
        return kind(robot, 'gripper', POINT, places.position, np.full(3, 0.01), terminal)
    return kind(
        robot, 'gripper', POINT, places.position,
        Rotation.from_matrix(np.array(places.rotation)).as_quat(),
        np.array([0.01, 0.01, 0.01, 0.02, 0.02, 0.02]), terminal)


@pytest.mark.parametrize(('kind', 'terminal'), [
    (None, 1.0), (EndEffectorPosition, 1.0), (EndEffectorPosition, 2.0),
    (EndEffectorPose, 1.0), (EndEffectorPose, 25.0)])
def test_the_adjoint_gradient_is_that_of_sensitivities_and_of_differences(
    kind, terminal, table, real, playback
):
    if kind is not None:
        playback = replace(playback, costs=(end_effector(table, real, kind, terminal),))
    problem = experiment.problem_of(table, playback)
    logs = np.log([3.0, 2.0])
    problem = problem.scheduled(problem.evaluate(logs))
    gradient = problem.gradient(problem.evaluate(logs))
    forward = sum(
        np.einsum('tm,tmk->k', *pair)
        for pair in problem.rows(problem.evaluate(logs, derivatives=True)))
    np.testing.assert_allclose(gradient, forward, rtol=1e-8)
    size = 1e-5
    expected = [
        (problem.evaluate(logs + step).cost - problem.evaluate(logs - step).cost) / (2.0 * size)
        for step in size * np.eye(2)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.fixture(scope='module')
def longer():
    """A loop that is free to bend while its gripper stands still."""
    return experiment.bench(8, damping=0.05)


@pytest.fixture(scope='module')
def hanging(longer):
    """A recording that begins with the loop hanging at rest, as its stiffness lets it."""
    values = longer.values()
    rest = resting(longer.integrator(), values, longer.start, range(7))
    settled = replace(longer, start=rest.positions)
    moved = experiment.truth(settled, seconds=SECONDS)
    return replace(experiment.recorded(longer, moved, 0), held=tuple(range(7)))


def test_a_start_at_rest_moves_with_the_stiffness_and_is_differentiated(longer, hanging):
    problem = experiment.problem_of(longer, hanging)
    logs = np.log([3.0, 2.0])
    point = problem.evaluate(logs, derivatives=True)
    problem = problem.scheduled(point)
    integrator, size = problem.integrator, 1e-5
    rest = resting(integrator, problem.at(logs), longer.start, range(7))
    assert np.abs(rest.positions - longer.start).max() > 1e-3
    for k, step in enumerate(size * np.eye(2)):
        near = [resting(integrator, problem.at(logs + sign * step), longer.start, range(7))
                for sign in (1.0, -1.0)]
        expected = (near[0].positions - near[1].positions) / (2.0 * size)
        # It hangs in its plane, whatever the stiffness across is.
        assert (np.abs(expected).max() > 1e-3) == (k == 0)
        np.testing.assert_allclose(
            rest.slopes[:, k] * np.exp(logs[k]), expected, rtol=1e-5, atol=1e-8)
    gradient = problem.gradient(problem.evaluate(logs))
    forward = sum(
        np.einsum('tm,tmk->k', *pair)
        for pair in problem.rows(problem.evaluate(logs, derivatives=True)))
    np.testing.assert_allclose(gradient, forward, rtol=1e-8)
    expected = [
        (problem.evaluate(logs + step).cost - problem.evaluate(logs - step).cost) / (2.0 * size)
        for step in size * np.eye(2)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_a_loop_that_hangs_at_rest_when_the_recording_begins_is_identified(longer, hanging):
    found = gauss_newton(experiment.problem_of(longer, hanging))
    assert found.status.ok
    np.testing.assert_allclose(found.values, TRUTH, rtol=0.02)


def test_at_rest_no_motion_within_the_closures_lowers_the_energy(longer, rng):
    integrator, values = longer.integrator(), longer.values()
    closures = longer.robot.loops.closures
    rest = resting(integrator, values, longer.start, range(7))
    system = discrete_system(longer.model, closures)
    across = constraints(system, None, rest.positions).jacobian[:, 7:]
    within = null_space(across) @ rng.normal(size=across.shape[1] - 12)

    def energy(size):
        q = rest.positions.copy()
        q[7:] += size * within
        q = closed_configuration(system, closures, q, held=range(7))
        still = DrivenTrajectory(np.array([q, 0.0 * q]), np.zeros((2, len(q))), 1e-3)
        motion = integrator.run(values, [still])[0]
        return integrator.read(values, motion).energies[0]

    low, least, high = (energy(size) for size in (-1e-3, 0.0, 1e-3))
    assert low > least and high > least
    assert abs(high - low) < 1e-3 * (high + low - 2.0 * least)


def test_what_a_start_depends_on_has_to_be_said_of_this_start(table, playback):
    with pytest.raises(RecordingError, match='none of this start'):
        DrivenTrajectory(
            np.ones((2, 3)), np.zeros((2, 3)), 0.01, start_slopes=np.zeros((3, 1)))
    with pytest.raises(RecordingError, match='does not say how its start depends'):
        table.integrator(starts=1).run(table.values(), [playback.trajectory])


def test_places_and_turns_of_the_end_effector_are_those_of_pinocchio(table, real, rng):
    model = table.robot.opened.pinocchio_model
    data, frame = model.createData(), model.getFrameId('gripper')
    q = table.start + 0.3 * rng.normal(size=(3, len(table.start)))
    found = link_places(table.robot.opened, 'gripper', POINT, q)
    for k, at in enumerate(q):
        jacobian = pin.computeFrameJacobian(model, data, at, frame, pin.LOCAL_WORLD_ALIGNED)
        pin.framesForwardKinematics(model, data, at)
        pose = data.oMf[frame]
        np.testing.assert_allclose(found.position[k], pose.act(POINT), atol=1e-12)
        np.testing.assert_allclose(found.rotation[k], pose.rotation, atol=1e-12)
        np.testing.assert_allclose(found.turn[k], jacobian[3:], atol=1e-12)
        slide = jacobian[:3] - pin.skew(pose.rotation @ POINT) @ jacobian[3:]
        np.testing.assert_allclose(found.slide[k], slide, atol=1e-12)


# Angles between the measured orientation and the predicted one in [rad], from where a series
# stands for the closed form to nearly half a turn.
@pytest.mark.parametrize('angle', [0.0, 1e-5, 2e-3, 0.5, 2.0, 3.0])
def test_a_pose_has_the_derivatives_of_differences(angle, table, real, rng):
    cost = end_effector(table, real, EndEffectorPose)
    q = table.start + 0.3 * rng.normal(size=(4, len(table.start)))
    found = link_places(table.robot.opened, 'gripper', POINT, q)
    axes = rng.normal(size=(4, 3))
    away = Rotation.from_rotvec(angle * axes / np.linalg.norm(axes, axis=1)[:, None])
    orientation = (away.inv() * Rotation.from_matrix(np.array(found.rotation))).as_quat()
    orientation[2] = np.nan
    measured = found.position + 0.01
    measured[1] = np.nan
    cost = replace(cost, measured=measured, orientation=orientation, terminal=3.0)
    here = cost.compare(q)
    np.testing.assert_allclose(
        here.values[0, 3:], away.as_rotvec()[0] / 0.02, atol=1e-9)
    assert here.cost == pytest.approx(0.5 * (
        3 * 3.0 + 2 * 3.0 + (angle / 0.02) ** 2 * (2 + 3.0)), rel=1e-6)
    assert not here.by_position[1, :3].any() and not here.by_position[2, 3:].any()
    for joint in range(q.shape[1]):
        step = 1e-5 * np.eye(q.shape[1])[joint]
        expected = (cost.compare(q + step).values - cost.compare(q - step).values) / 2e-5
        np.testing.assert_allclose(
            here.by_position[:, :, joint], expected,
            atol=1e-6 * np.abs(here.by_position).max())


def test_the_stiffness_is_found_from_poses_of_the_gripper(table, real, playback, rng):
    exact = end_effector(table, real, EndEffectorPose)
    noise = np.array([1e-3] * 3 + [3e-3] * 3)
    turned = Rotation.from_rotvec(noise[3:] * rng.normal(size=(exact.nodes, 3)))
    seen = replace(
        exact, measured=exact.measured + noise[:3] * rng.normal(size=exact.measured.shape),
        orientation=(turned * Rotation.from_quat(exact.orientation)).as_quat(), sigma=noise)
    found = gauss_newton(experiment.problem_of(table, replace(playback, costs=(seen,))))
    assert found.status.ok
    np.testing.assert_allclose(found.values, TRUTH, rtol=0.05)


def test_poses_that_are_none_are_refused(table, real):
    cost = end_effector(table, real, EndEffectorPose)
    for changed, words in (
            ({'orientation': cost.orientation[1:]}, 'do not belong to the places'),
            ({'orientation': 1.1 * cost.orientation}, 'none of a rotation'),
            ({'orientation': np.full_like(cost.orientation, np.inf)}, 'infinity was measured'),
            ({'sigma': np.ones(3)}, 'do not belong together'),
            ({'terminal': -1.0}, 'cannot count so often')):
        with pytest.raises(RecordingError, match=words):
            replace(cost, **changed)
    with pytest.raises(ModelError, match='no such link'):
        replace(cost, link='claw')


def test_stiffness_that_differs_along_the_loop_is_found_from_several_motions(table):
    # One stiffness in the half beside the gripper, another below, each about both axes.
    halves = [
        [name for name in group if any(f'_{k}_' in name for k in chosen)]
        for group in table.groups for chosen in ((1,), (2, 3))]
    truth = np.array([6.0, 3.0, 1.5, 0.8])
    values = {name: value for names, value in zip(halves, truth, strict=True) for name in names}
    each = tuple([values[name] for name in group] for group in table.groups)
    free_parameters = tuple(
        FreeParameter(f'kappa_{k}', tuple(names), 3.0) for k, names in enumerate(halves))
    plays = [
        experiment.recorded(table, experiment.truth(
            table, each, seed, SECONDS, 0.2), seed, noise=0.2) for seed in (1, 2)]
    found = gauss_newton(experiment.problem_of(table, *plays, free_parameters=free_parameters))
    assert found.status.ok
    np.testing.assert_allclose(found.values, truth, rtol=0.03)


def test_feedback_of_a_linear_quadratic_regulator_holds_as_well(table, real, playback):
    arm = RobotModel.from_urdf(experiment.arm_urdf())
    model = TorqueModel(arm)
    hold = playback.trajectory.hold
    lqr = lqr_hold(
        model, model.parameters.values, range(7), hold.reference,
        playback.trajectory.torque[:, :7], 0.01, position=np.full(7, 0.02),
        velocity=np.full(7, 1.0), effort=np.full(7, 5.0))
    assert len(lqr.stiffness) == len(hold.reference) - 1
    held = replace(playback, trajectory=replace(playback.trajectory, hold=lqr))
    found = gauss_newton(experiment.problem_of(table, held))
    assert found.status.ok
    np.testing.assert_allclose(found.values, TRUTH, rtol=0.03)


def test_a_playback_without_feedback_is_refused_where_it_diverges_or_advised_against(
    table, playback
):
    alone = replace(playback, trajectory=replace(playback.trajectory, hold=None))
    problem = experiment.problem_of(table, alone, most_substeps=4)
    try:
        result = identified(gauss_newton(problem))
    except EstimationError as error:
        assert 'cannot be played back' in str(error) or 'do not tell' in str(error)
    else:
        assert any('too weak' in sentence for sentence in gain_advice(result))


def test_feedback_that_hides_what_is_sought_is_advised_against(table, playback):
    firm = experiment.held_by(playback, 2000.0)
    result = identified(gauss_newton(experiment.problem_of(table, firm)))
    assert any('so strong' in sentence for sentence in gain_advice(result))


def test_a_parameter_at_its_bound_is_named(table, playback):
    first, second = table.free_parameters()
    bounded = (replace(first, upper=3.0, start=2.0), second)
    for search in (gauss_newton, lbfgs):
        found = search(experiment.problem_of(table, playback, free_parameters=bounded))
        assert found.status is SearchStatus.AT_BOUND
        assert not found.status.ok
        assert found.at_bound == ('kappa_theta',)
        assert found.values[0] == pytest.approx(3.0)


def test_a_search_that_runs_out_of_iterations_says_so(problem):
    assert gauss_newton(problem, max_iterations=1).status is SearchStatus.ITERATION_LIMIT
    assert steepest_descent(problem, max_iterations=1).status is SearchStatus.ITERATION_LIMIT


def test_a_start_that_cannot_be_simulated_is_named(table, playback):
    stiff = tuple(replace(entry, start=1e5) for entry in table.free_parameters())
    reference = playback.trajectory.hold.reference + np.linspace(0.0, 40.0, 601)[:, None]
    torn = replace(playback, trajectory=replace(
        playback.trajectory, hold=replace(playback.trajectory.hold, reference=reference)))
    with pytest.raises(EstimationError, match='cannot be played back.*It came to'):
        gauss_newton(experiment.problem_of(table, torn, free_parameters=stiff, most_substeps=2))


def test_what_no_recording_tells_is_refused(table, playback):
    # The first link turns about the vertical through its centre: its mass is never felt.
    free_parameters = (*table.free_parameters(4.0), FreeParameter('mass', ('link1.mass',), 5.7))
    with pytest.raises(EstimationError, match='do not tell'):
        identified(gauss_newton(
            experiment.problem_of(table, playback, free_parameters=free_parameters),
            max_iterations=2))
    again = (*table.free_parameters(4.0), FreeParameter('again', table.groups[0][:1], 5.0))
    with pytest.raises(EstimationError, match='several that are sought'):
        experiment.problem_of(table, playback, free_parameters=again)


def test_measurements_that_do_not_belong_together_are_refused(table, playback):
    measured = playback.costs[0].measured
    for bad in (
            lambda: JointAngles(np.arange(7), measured[:, :3], np.full(7, 1.0)),
            lambda: JointAngles(np.arange(7), measured, np.zeros(7)),
            lambda: JointAngles(np.arange(7), np.full((4, 7), np.inf), np.ones(7)),
            lambda: replace(playback, costs=(JointAngles(
                np.arange(7), measured[:5], np.ones(7)),)),
            lambda: Hold(np.arange(7), measured, np.eye(3), np.eye(7)),
            lambda: Hold(np.arange(7), np.full_like(measured, np.nan), np.eye(7), np.eye(7))):
        with pytest.raises(RecordingError):
            bad()
    for bad in (
            lambda: FreeParameter('none', (), 1.0), lambda: FreeParameter('low', ('x',), 0.0),
            lambda: experiment.problem_of(table)):
        with pytest.raises(EstimationError):
            bad()
    with pytest.raises(ConfigurationError):
        LineSearch(slope=1.5)
    with pytest.raises(ConfigurationError):
        lbfgs(None, memory=0)


def test_gaps_in_measurements_do_not_matter(table, playback, found):
    measured = playback.costs[0].measured.copy()
    measured[50:80, 2] = np.nan
    gapped = replace(playback, costs=(replace(playback.costs[0], measured=measured),))
    other = gauss_newton(experiment.problem_of(table, gapped))
    np.testing.assert_allclose(other.values, found.values, rtol=0.01)


def test_the_criterion_foretells_where_an_undamped_loop_blows_up(monkeypatch):
    loose = experiment.bench(12, damping=0.0)
    playback = experiment.recorded(loose, experiment.truth(loose, seconds=8.0), 0)
    values, trajectory = loose.values(), playback.trajectory
    # In steps of 10 ms; with steps of 1 ms the same motion is calm.
    monkeypatch.setattr('sysid_ros.mechanics.integrators.variational.integrator._MARGIN', 1e9)
    blind = loose.integrator(most_substeps=1)
    wild = blind.run(values, [trajectory])[0]
    assert wild.status is MotionStatus.UNSOLVED
    ratios = np.array([
        geometric_ratio(
            *blind.at(values), wild.inner[k], wild.multipliers[k], 0.01, 0.01)
        for k in range(1, wild.reached)])
    foretold = 1 + int(np.flatnonzero(ratios > 1.0)[0])
    assert 1 <= wild.reached - foretold <= 60
    monkeypatch.undo()
    refused = loose.integrator(most_substeps=1).run(values, [trajectory])[0]
    assert refused.status is MotionStatus.UNSTABLE
    assert refused.reached <= foretold
    calm = loose.integrator().run(values, [trajectory])[0]
    assert calm.status is MotionStatus.COMPLETED
    assert calm.steps.max() == 2
    assert loose.integrator().read(values, calm).gaps.max() <= 1e-10


def test_a_trial_that_blows_up_raises_the_damping_and_does_not_end_the_fit(
    problem, found, monkeypatch
):
    evaluate, trials = type(problem).evaluate, []

    def sometimes(self, logs, **options):
        trials.append(logs)
        point = evaluate(self, logs, **options)
        return point._replace(cost=np.inf) if len(trials) in (2, 3) else point

    monkeypatch.setattr(type(problem), 'evaluate', sometimes)
    again = gauss_newton(problem)
    assert again.status is SearchStatus.CONVERGED
    assert len(again.steps) > len(found.steps)
    np.testing.assert_allclose(again.values, found.values, rtol=1e-3)


@pytest.mark.slow
def test_known_noise_tells_how_far_estimates_scatter_where_one_event_tells_most(table):
    # The loop snaps: half a second tells 70 % of a stiffness, and is fitted to its noise.
    moved = experiment.truth(table, seconds=SECONDS, size=0.18)
    scatter = {}
    for told in (False, True):
        results = [
            identified(gauss_newton(experiment.problem_of(
                table, experiment.recorded(table, moved, seed, told=told))))
            for seed in range(6)]
        scatter[told] = np.sqrt(np.mean([
            (np.log(result.values / TRUTH) / result.relative_deviation) ** 2
            for result in results], axis=0))
    assert (scatter[True] < 2.0).all() and (scatter[True] > 0.3).all()
    assert scatter[False].max() > 2.5


def test_known_noise_is_followed_as_far_as_that_is_worked_out(table, real, found):
    playback = experiment.recorded(table, real, 0, told=True)
    agreed = identified(gauss_newton(experiment.problem_of(table, playback)))
    spread = identified(found).relative_deviation
    assert (agreed.relative_deviation < 2.0 * spread).all()
    assert (agreed.relative_deviation > 0.3 * spread).all()
    trajectory, hold = playback.trajectory, playback.trajectory.hold
    many = replace(hold, **{
        name: np.repeat(getattr(hold, name), len(hold.reference) - 1, axis=0)
        for name in ('stiffness', 'damping')})
    changing = replace(playback, trajectory=replace(trajectory, hold=many))
    with pytest.raises(EstimationError, match='constant gains only'):
        identified(gauss_newton(experiment.problem_of(table, changing)))
    cost = playback.costs[0]
    fewer = replace(playback, costs=(replace(
        cost, joints=cost.joints[1:], measured=cost.measured[:, 1:], sigma=cost.sigma[1:]),))
    with pytest.raises(EstimationError, match='not compared'):
        identified(gauss_newton(experiment.problem_of(table, fewer)))
