"""Factor graphs: derivatives of every factor, exact factors, forward dynamics, smoothing."""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from support import TESTS
from support import four_bar_reference as reference
from support.kernel_caches import assert_cache_looks_at_its_sources
from sysid_ros.errors import EstimationError, ModelError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.graph import planar_response, window_kernels
from sysid_ros.estimation.trajectory.graph.drawing import draw
from sysid_ros.estimation.trajectory.graph.factors import (
    Equality,
    Euler,
    Prior,
    Selection,
    Trapezoidal,
)
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.inverse_dynamics import inverse_dynamics
from sysid_ros.estimation.trajectory.graph.link_sensors import (
    Accelerometer,
    Gyroscope,
    LoadCell,
)
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    AccelerationConstraints,
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism
from sysid_ros.estimation.trajectory.graph.simulation import SimulationNoise, forward_dynamics
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother
from sysid_ros.estimation.trajectory.graph.variables import FreeParameters

MORE = 'viscous_friction: 0.4, stiffness: 1.5, rest: 0.2'


@pytest.fixture(scope='module')
def mechanism():
    return parse_mechanism(reference.description(more=MORE))


def everything(mechanism):
    """All parameters, each by itself."""
    values = mechanism.parameters.values
    names = mechanism.parameters.names
    return FreeParameters(
        names, np.eye(len(values)), np.zeros(len(values)), values,
        np.full(len(values), -np.inf), np.full(len(values), np.inf))


FACTORS = {
    'prior': Prior('a', 0.3, 0.5),
    'reading': Prior('q', np.arange(12.0).reshape(4, 3), [0.1, 0.2, 0.3], only=(
        'P1.x', 'P2.y', 'theta')),
    'selection of positions': Selection('q', 0.1),
    'selection of velocities': Selection('v', 0.1),
    'selection of accelerations': Selection('a', 0.1),
    'soft equality': Equality('q', 10.0),
    'Euler of positions': Euler('q', 0.1),
    'Euler of velocities': Euler('v', 0.1),
    'trapezoidal of positions': Trapezoidal('q', 0.1),
    'trapezoidal of independent rates': Trapezoidal('dz', 0.1),
    'position constraints': PositionConstraints(0.2),
    'velocity constraints': VelocityConstraints(0.2),
    'acceleration constraints': AccelerationConstraints(0.2),
    'forward dynamics': Dynamics(0.3, torque=np.array([0.7])),
    'forward dynamics of independent coordinates': Dynamics(0.3, independent=True),
    'inverse dynamics': Dynamics(0.3, torque=None),
    'inverse dynamics of independent coordinates': Dynamics(0.3, torque=None, independent=True),
}
READ = np.arange(8.0).reshape(4, 2)
FACTORS |= {
    'gyroscope': Gyroscope(('P1', 'P2'), READ[:, :1], 0.1),
    'gyroscope against the ground': Gyroscope(('B', 'P2'), READ[:, :1], 0.1),
    'accelerometer': Accelerometer(('A', 'P1'), READ, [0.1, 0.2]),
    'accelerometer elsewhere': Accelerometer(('P1', 'P2'), READ, 0.1, point='P1'),
    'load cell': LoadCell(('P1', 'P2'), READ, 0.1),
    'load cell with known torque': LoadCell(('P1', 'P2'), READ, 0.1, torque=np.ones((4, 1))),
}


@pytest.mark.parametrize('name', FACTORS)
def test_derivatives_of_a_factor_are_those_of_differences(mechanism, name, rng):
    # All by all variables and parameters; at configurations the loop closes at, since the
    # acceleration of a mechanism that is torn is anything.
    everywhere = [Prior(variable, 0.0, 1.0) for variable in (
        'q', 'v', 'a', 'z', 'dz', 'ddz', 'torque')]
    factor = FACTORS[name]
    graph = FactorGraph(mechanism, 0.1, 4, [*everywhere, factor], everything(mechanism))
    chain, values = graph.chain(), graph.parameters.start
    states = rng.normal(size=(4, graph.layout.size))
    states[:, :5] = [mechanism.configuration(angle) for angle in rng.uniform(-1.0, 1.0, (4, 1))]

    def residuals(states, values):
        single, between = (
            part[:, -factor.width(mechanism):] for part in chain.soft_rows(states, values))
        return between if factor.pairs else single

    rows = residuals(states, values)
    size, step = states.shape[1], 1e-6
    for column in range(rows.shape[2] - 1):
        moves, shift = np.zeros((2, *states.shape)), np.zeros(len(values))
        if factor.pairs and column >= 2 * size:
            shift[column - 2 * size] = step
        elif factor.pairs:
            # Every second step, so that a pair is moved at one end only.
            moves[0, column // size::2, column % size] = step
            moves[1, 1 - column // size::2, column % size] = step
        elif column >= size:
            shift[column - size] = step
        else:
            moves[0, :, column] = step
        for move in moves:
            if not (move.any() or shift.any()):
                continue
            ahead, behind = (
                residuals(states + sign * move, values + sign * shift)[:, :, -1].copy()
                for sign in (1.0, -1.0))
            slope = (ahead - behind) / (2.0 * step)
            felt = np.ones(len(slope), dtype=bool)
            if factor.pairs and move.any():
                start = 0 if move[0].any() else 1
                felt = np.arange(len(slope)) % 2 == (start if column < size else 1 - start)
            scale = max(1.0, np.abs(rows[:, :, :-1]).max())
            assert np.abs(slope - rows[:, :, column])[felt].max() <= 1e-7 * scale


def test_sensors_read_what_the_reduced_motion_says(rng):
    # Bodies by Newton and Euler: the force on the coupler at its far pin carries the rocker, whose
    # moment about its fixed pivot says what lies across it; the coupler's own says the rest.
    bar = reference.FourBar()
    theta, rate, acceleration = rng.uniform(-2.0, 2.0, size=(3, 4))
    q, v, a = bar.coordinates(theta, rate, acceleration)
    torque = bar.torque(theta, rate, acceleration)
    mechanism = parse_mechanism(reference.description())
    way, change = (q[:, 2:4] - q[:, :2]) / 2.0, (v[:, 2:4] - v[:, :2]) / 2.0
    turning = way[:, 0] * change[:, 1] - way[:, 1] * change[:, 0]
    across = np.column_stack([-way[:, 1], way[:, 0]])
    felt = a[:, 2:4] + [0.0, 9.8]
    specific = np.column_stack([np.sum(way * felt, 1), np.sum(across * felt, 1)])
    # Force F on the coupler at P2; -F on the rocker. Moments about P1 and about B.
    arms = np.stack([q[:, 2:4] - q[:, :2], q[:, 2:4] - [4.0, 0.0]], 1)
    matrix = np.stack([-arms[:, :, 1], arms[:, :, 0]], 2)
    middle, own = 0.5 * (a[:, :2] + a[:, 2:4]) + [0.0, 9.8], a[:, 2:4] - a[:, :2]

    def cross(x, y):
        return x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]

    coupler = 2.0 * cross(0.5 * arms[:, 0], middle) + 2.0 / 12.0 * cross(arms[:, 0], own)
    rocker = 4.0 * cross(0.5 * arms[:, 1], 0.5 * a[:, 2:4] + [0.0, 9.8]) + (
        4.0 / 12.0 * cross(arms[:, 1], a[:, 2:4]))
    force = np.linalg.solve(matrix, np.stack([coupler, -rocker], 1)[:, :, None])[:, :, 0]
    cell = np.column_stack([np.sum(way * force, 1), np.sum(across * force, 1)])
    factors = [
        Gyroscope(('P1', 'P2'), turning[:, None], 1.0), Accelerometer(('P1', 'P2'), specific, 1.0),
        LoadCell(('P1', 'P2'), cell, 1.0, torque=torque[:, None])]
    graph = FactorGraph(mechanism, 0.1, 4, factors)
    states = graph.states({'q': q, 'v': v, 'a': a})
    rows = graph.chain().soft_rows(states, np.zeros(0))[0]
    np.testing.assert_allclose(rows[:, :, -1], 0.0, atol=1e-10)


def test_a_load_cell_needs_a_rod(mechanism):
    graph = FactorGraph(
        mechanism, 0.1, 4, [LoadCell(('A', 'P1'), READ, 0.1, torque=np.zeros((4, 1)))])
    with pytest.raises(ModelError, match='rod of two points without an angle.*found A-P1'):
        graph.chain().soft_rows(graph.states(), np.zeros(0))


def test_exact_factors_hold_exactly_and_leave_only_what_is_free(mechanism):
    graph = forward_dynamics(mechanism, 1e-2, 30, coordinates='independent', accelerations=True)
    chain = graph.chain()
    # Seven numbers: of the crank angle, its rate and its acceleration all others follow.
    assert chain.dimension == 3
    found = FixedLagSmoother(graph, 3).run()
    here = mechanism.constrained(*(np.ascontiguousarray(
        found[:, graph.layout.places[name]]) for name in ('q', 'v', 'a')))
    v, a = (found[:, graph.layout.places[name], None] for name in ('v', 'a'))
    assert np.abs(here.gap).max() < 1e-10
    assert np.abs(here.jacobian @ v).max() < 1e-9
    assert np.abs(here.bias + (here.jacobian @ a)[:, :, 0]).max() < 1e-8


def test_independent_coordinates_give_the_trapezoidal_rule_itself(mechanism):
    h, count = 1e-2, 80
    graph = forward_dynamics(
        mechanism, h, count, coordinates='independent', torque=np.array([3.0]))
    found = graph.layout.split(FixedLagSmoother(graph, 2).run())
    values, none = mechanism.parameters.values, np.zeros((len(mechanism.parameters.values), 0))

    def acceleration(theta, rate):
        bar = reference.FourBar()
        q, v, _ = bar.coordinates(np.array([theta]), np.array([rate]), np.zeros(1))
        return mechanism.response(values, q, v, np.array([[3.0]]), none).value[0, 4]

    theta, rate = 0.0, 0.0
    for k in range(count - 1):
        before = acceleration(theta, rate)
        after = before
        for _ in range(60):
            fast = rate + 0.5 * h * (before + after)
            far = theta + 0.5 * h * (rate + fast)
            after = acceleration(far, fast)
        theta, rate = far, fast
        np.testing.assert_allclose(found['z'][k + 1], theta, atol=2e-9)
        np.testing.assert_allclose(found['dz'][k + 1], rate, atol=2e-8)


@pytest.mark.parametrize(('coordinates', 'bar'), [('dependent', 5e-5), ('independent', 5e-6)])
@pytest.mark.parametrize('window', [2, 5])
def test_the_free_motion_is_that_of_the_reduced_equation(coordinates, bar, window):
    # The bars for 5 s; one second is tried here, all of it in the benchmark.
    mechanism = parse_mechanism(reference.description(angle=coordinates == 'independent'))
    graph = forward_dynamics(mechanism, 1e-3, 1001, coordinates=coordinates)
    found = graph.layout.split(FixedLagSmoother(graph, window).run())['q'][:, :4]
    t = 1e-3 * np.arange(1001)
    wanted = reference.FourBar().coordinates(*reference.FourBar().motion(t))[0][:, :4]
    assert np.sqrt(np.mean((found - wanted)**2)) <= bar


def test_trapezoidal_is_of_second_order_and_euler_of_first(mechanism):
    wanted = reference.FourBar()
    mechanism = parse_mechanism(reference.description())
    errors = {}
    for integrator in ('trapezoidal', 'euler'):
        for h in (2e-3, 1e-3):
            count = round(0.4 / h) + 1
            graph = forward_dynamics(
                mechanism, h, count, coordinates='independent', integrator=integrator)
            z = graph.layout.split(FixedLagSmoother(graph, 3).run())['z'][-1, 0]
            truth = wanted.motion(np.array([0.0, 0.4]))[0][-1]
            errors[integrator, h] = abs(z - truth)
    assert errors['trapezoidal', 2e-3] / errors['trapezoidal', 1e-3] == pytest.approx(4.0, rel=0.1)
    assert errors['euler', 2e-3] / errors['euler', 1e-3] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize('coordinates', ['dependent', 'independent'])
def test_the_smoother_ends_where_the_whole_graph_has_its_minimum(coordinates):
    mechanism = parse_mechanism(reference.description(angle=coordinates == 'independent'))
    graph = forward_dynamics(mechanism, 1e-2, 40, coordinates=coordinates)
    smoother = FixedLagSmoother(graph, 4, tolerance=1e-9)
    smoothed = smoother.run()
    whole = graph.solve(graph.layout.split(smoothed))
    assert whole.status is Status.CONVERGED
    # What has left the window is linear there: at these long steps that shows in accelerations.
    np.testing.assert_allclose(smoother.states, whole.states[-4:], atol=5e-7)


@pytest.mark.parametrize('dynamics', [0.01, 0.0])
def test_factors_between_steps_may_be_exact(dynamics):
    mechanism = parse_mechanism(reference.description())
    soft = forward_dynamics(mechanism, 1e-2, 40, coordinates='independent')
    wanted = soft.layout.split(FixedLagSmoother(soft, 3, tolerance=1e-9).run())
    exact = forward_dynamics(
        mechanism, 1e-2, 40, coordinates='independent',
        noise=SimulationNoise(integrator=0.0, dynamics=dynamics))
    found = exact.solve({name: values + 1e-3 for name, values in wanted.items()})
    assert found.status is Status.CONVERGED
    for name, values in wanted.items():
        np.testing.assert_allclose(found.variables[name], values, atol=1e-8)


def test_soft_equality_is_a_bias():
    mechanism = parse_mechanism(reference.description())
    t = 1e-3 * np.arange(501)
    truth = reference.FourBar().motion(t)[0]
    errors = []
    for equality in (None, 10.0):
        graph = forward_dynamics(
            mechanism, 1e-3, 501, coordinates='independent',
            noise=SimulationNoise(equality=equality))
        z = graph.layout.split(FixedLagSmoother(graph, 3).run())['z'][:, 0]
        errors.append(np.sqrt(np.mean((z - truth)**2)))
    assert errors[1] > 20.0 * errors[0]


def test_the_graph_prints_itself(mechanism):
    text = str(forward_dynamics(mechanism, 1e-3, 100, coordinates='independent'))
    assert 'four-bar: 100 steps of 0.001 s' in text
    assert 'trapezoidal              z[k], z[k+1], dz[k], dz[k+1]; sigma 0.1' in text
    assert 'position constraints     q[k]; exact' in text


def test_a_dead_point_is_said():
    # A crank that is as long as the rocker can reach comes to a dead point under gravity.
    text = reference.description(angle=False).replace('P2: {at: [1, 2]}', 'P2: {at: [3, 0]}')
    mechanism = parse_mechanism(text)
    graph = forward_dynamics(mechanism, 1e-3, 20)
    with pytest.raises(EstimationError, match=r'dead point|contradict|cannot all'):
        FixedLagSmoother(graph, 3).run()


@pytest.mark.parametrize(('factors', 'words'), [
    ([Prior('w', 0.0, 1.0)], "no such variable.*found 'w'"),
    ([Prior('q', np.zeros(3), 1.0)], 'values do not fit'),
    ([Prior('q', 0.0, -1.0)], 'neither all above zero'),
    ([Prior('q', 0.0, 1.0, only=['theta', 'x'])], "no such number.*found 'x'"),
    ([Prior('q', 0.0, 1.0, at=50)], 'steps that do not exist'),
    ([Dynamics(1.0, torque=np.zeros(2))], 'torques do not fit'),
    ([Prior('q', 0.0, [1.0, 2.0])], r'standard deviations do not fit.*found \(2,\)'),
    ([Gyroscope(('P1', 'P2'), np.zeros((10, 2)), 0.1)], r'readings do not fit.*\(10, 1\)'),
    ([LoadCell(('P1', 'P2'), np.zeros((10, 2)), 0.1, torque=np.zeros(3))], 'torques do not fit'),
    ([Prior('q', 0.0, 0.0), PositionConstraints()], 'contradict|cannot all|dead point'),
])
def test_mistakes_are_said(mechanism, factors, words):
    with pytest.raises(EstimationError, match=words):
        FactorGraph(mechanism, 1e-3, 10, factors).solve()


def test_words_that_are_not_known_are_refused(mechanism):
    with pytest.raises(EstimationError, match=r"coordinates: .*found 'dependend'.*'dependent'"):
        forward_dynamics(mechanism, 1e-3, 10, coordinates='dependend')
    with pytest.raises(EstimationError, match=r"integrator: .*found 'midpoint'"):
        forward_dynamics(mechanism, 1e-3, 10, integrator='midpoint')
    with pytest.raises(EstimationError, match='coordinates: there is no such choice'):
        inverse_dynamics(mechanism, 1e-3, np.zeros((10, 1)), coordinates='free')


def test_smoothers_refuse_what_they_would_forget(mechanism):
    graph = forward_dynamics(mechanism, 1e-3, 10, noise=SimulationNoise(integrator=0.0))
    with pytest.raises(EstimationError, match='cannot forget'):
        FixedLagSmoother(graph, 3)
    with pytest.raises(EstimationError, match='too short'):
        FixedLagSmoother(replace(graph), 1)


@pytest.mark.parametrize('coordinates', ['dependent', 'independent'])
def test_the_compiled_window_does_what_its_pieces_do(coordinates):
    mechanism = parse_mechanism(reference.description(more=MORE))
    graph = forward_dynamics(
        mechanism, 2e-3, 120, coordinates=coordinates, torque=np.array([2.0]),
        accelerations=coordinates == 'independent')
    compiled, pieces = FixedLagSmoother(graph, 3), FixedLagSmoother(graph, 3)
    found = compiled.run()
    while pieces.newest + 1 < graph.count:
        pieces._program = None
        pieces.advance()
    np.testing.assert_allclose(compiled.states, pieces.states, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found[-3:], pieces.states, rtol=1e-8, atol=1e-8)


def test_readings_that_come_sample_by_sample_count_as_those_known_beforehand(rng):
    mechanism = parse_mechanism(reference.description())
    t = 2e-3 * np.arange(60)
    theta = reference.FourBar().motion(t)[0] + 1e-3 * rng.normal(size=60)
    torque = rng.normal(size=(60, 1))

    def graph(readings, torque):
        simulated = forward_dynamics(
            mechanism, 2e-3, 60, coordinates='independent', torque=torque)
        encoder = Prior('q', readings, 1e-3, only=['theta'], title='encoder')
        return replace(simulated, factors=[*simulated.factors[1:], encoder])

    known = FixedLagSmoother(graph(theta[:, None], torque), 4)
    known.run()
    nothing = np.full((60, 1), np.nan)
    nothing[0] = theta[0]
    before = np.zeros((60, 1))
    before[0] = torque[0]
    online = FixedLagSmoother(graph(nothing, before), 4)
    for k in range(1, 60):
        online.advance({'encoder': theta[k:k + 1], 'forward dynamics': torque[k]})
    np.testing.assert_allclose(online.states, known.states, rtol=1e-9, atol=1e-9)
    with pytest.raises(EstimationError, match='no more steps'):
        online.advance()


@pytest.mark.parametrize('sensor', ['gyroscope', 'accelerometer', 'load cell'])
def test_sensors_of_links_may_miss_samples_and_be_read_one_by_one(sensor, rng):
    mechanism = parse_mechanism(reference.description())
    kind, width = {
        'gyroscope': (Gyroscope, 1), 'accelerometer': (Accelerometer, 2),
        'load cell': (partial(LoadCell, torque=np.zeros(1)), 2)}[sensor]
    simulated = forward_dynamics(
        mechanism, 2e-3, 20, coordinates='independent', accelerations=True,
        noise=SimulationNoise(1e-4, 1.0))
    # What it would read, with noise; some samples are missing.
    free = FixedLagSmoother(simulated, 4).run()
    silent = replace(simulated, factors=[
        *simulated.factors, kind(('P1', 'P2'), np.zeros((20, width)), 1.0)])
    values = silent.chain().soft_rows(free, np.zeros(0))[0][:, -width:, -1]
    values = values + 0.1 * rng.normal(size=values.shape)
    values[rng.uniform(size=20) < 0.3] = np.nan
    nothing = np.full_like(values, np.nan)
    nothing[0] = values[0]
    ended = []
    for known in (values, nothing):
        factor = kind(('P1', 'P2'), known, 0.1)
        smoother = FixedLagSmoother(
            replace(simulated, factors=[*simulated.factors, factor]), 4)
        while smoother.newest + 1 < 20:
            told = values[smoother.newest + 1]
            smoother.advance(None if known is values else {factor.name: told})
        ended.append(smoother.states)
    np.testing.assert_allclose(ended[1], ended[0], rtol=1e-9, atol=1e-9)
    # What was read matters.
    assert np.abs(free[-4:] - ended[0]).max() > 1e-6


def test_readings_of_no_factor_are_refused():
    smoother = FixedLagSmoother(
        forward_dynamics(parse_mechanism(reference.description()), 2e-3, 60), 4)
    with pytest.raises(EstimationError, match="found 'encode'"):
        smoother.advance({'encode': np.zeros(1)})
    with pytest.raises(EstimationError, match=r'does not fit the factor \(found \(2,\)'):
        smoother.advance({'forward dynamics': np.zeros(2)})
    with pytest.raises(EstimationError, match='a torque is missing'):
        smoother.advance({'forward dynamics': np.array([np.nan])})
    # It goes on as if nothing had been said.
    other = FixedLagSmoother(smoother.graph, 4)
    np.testing.assert_array_equal(smoother.run(), other.run())


def test_gtsam_finds_the_same_with_factors_of_its_own(rng):
    pytest.importorskip('gtsam', reason='the oracle of factor graphs is not installed')
    from support import four_bar_in_gtsam

    mechanism, t = parse_mechanism(reference.description(angle=False)), 1e-3 * np.arange(100)
    bar = reference.FourBar()
    motion = bar.coordinates(*bar.motion(t), angle=False)
    guess = [x + 1e-3 * rng.normal(size=x.shape) for x in motion]
    found = forward_dynamics(mechanism, 1e-3, 100).solve(dict(zip('qva', guess, strict=True)))
    theirs, _ = four_bar_in_gtsam.batch(100, 1e-3, 9.8, (motion[0][0], motion[1][0]), guess)
    assert found.status is Status.CONVERGED
    for name, values in zip('qva', theirs, strict=True):
        np.testing.assert_allclose(found.variables[name], values, atol=1e-8)


def test_the_graph_draws_itself(mechanism):
    from matplotlib.figure import Figure

    graph = forward_dynamics(mechanism, 1e-3, 10, coordinates='independent')
    axes = Figure().subplots()
    draw(graph, axes)
    texts = {text.get_text() for text in axes.texts}
    assert {'q[k]', 'q[k+1]', 'ddz[k+1]', 'trapezoidal', 'forward dynamics'} <= texts
    squares = [line for line in axes.lines if line.get_marker() == 's']
    # Two of each factor of a step, but for priors of the first one; one of those between.
    single = [f for f in graph.factors if not f.pairs and f.at is None]
    assert len(squares) == 2 * len(single) + 2 + 2


def test_lines_lead_from_the_dynamics_of_a_drawing_to_parameters(mechanism):
    from matplotlib.figure import Figure

    graph = forward_dynamics(mechanism, 1e-3, 10)
    dotted = []
    for free_parameters in (None, everything(mechanism)):
        axes = Figure().subplots()
        draw(replace(graph, free_parameters=free_parameters), axes)
        dotted.append(sum(line.get_linestyle() == ':' for line in axes.lines))
    assert dotted == [0, 2]


def test_covariances_lie_in_the_directions_that_exact_factors_leave(mechanism):
    graph = FactorGraph(mechanism, 0.1, 3, [
        Prior('q', mechanism.assembly, 0.1), PositionConstraints(), Equality('q', 0.2)])
    found = graph.solve()
    still = np.zeros((1, 5))
    jacobian = mechanism.constrained(mechanism.assembly[None], still, still).jacobian[0]
    direction = np.linalg.svd(jacobian)[2][-1]
    # Along the one direction the three steps form a chain of readings and soft equality.
    information = np.eye(3) / 0.1**2 + np.array([
        [1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]) / 0.2**2
    wanted = np.linalg.inv(information)
    for k, covariance in enumerate(found.covariances()):
        np.testing.assert_allclose(
            covariance, wanted[k, k] * np.outer(direction, direction), atol=1e-10)


@pytest.mark.parametrize('example', ['four_bar_graph', 'robot_with_loop_graph'])
def test_examples_run(example, capsys, monkeypatch, tmp_path):
    path = TESTS.parent / 'examples' / f'{example}.py'
    monkeypatch.setattr('sys.argv', [str(path), str(tmp_path / 'graph.png')])
    runpy.run_path(str(path), run_name='__main__')
    said = capsys.readouterr().out
    assert 'inverse dynamics' in said and 'truly' in said
    assert example != 'four_bar_graph' or (tmp_path / 'graph.png').stat().st_size > 10_000


@pytest.mark.parametrize(('module', 'entry'), [
    (planar_response, planar_response.respond), (window_kernels, window_kernels.advance)])
def test_caches_look_at_the_files_they_call(module, entry):
    assert_cache_looks_at_its_sources(module, entry)
