r"""What rows say, without a prior, of an effort's scale and gain, a joint's zero, and the clock.

One set of inertial parameters makes the torques of all joints. A joint that accelerates acts on
its neighbours as they act on it, weights turn with the angles of the joints below, and a first
moment both weighs and accelerates. So a wrong scale s of one effort, a gain that grows by the
part :math:`\gamma` up to the largest torque, a wrong zero :math:`\delta` of a joint, and a clock
that runs k times too fast cannot be made up for by other masses. Each is tried as a further column
of the regressor, at the parameters that were found:

.. math:: s: \; e_j \hat\tau_j, \qquad
    \gamma: \; e_j \hat\tau_j |\hat\tau_j| / \max|\hat\tau_j|, \qquad
    \delta: \; \partial\hat\tau / \partial q_j, \qquad \log k: \; 2\,(\hat\tau - \hat g),

with :math:`\hat\tau` of the bodies alone. The one that explains most is taken in, then the next
beside it (forward selection). Offsets, friction and drive inertia of every joint are free.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.recording.checks.settings_lines import signal_line
from sysid_ros.robot.load_carriers import load_carriers

# Squared standard deviations by which a column has to explain the rows better, and in parts of the
# first one, whose linearisation leaves something.
_DECISIVE, _BESIDE = 16.0, 0.1
# Smaller ones are what real robots have: factors of an effort and of the clock, growth of a gain,
# and zeros in [rad] or [m].
_SCALE, _CLOCK, _GROWTH, _ZERO = 1.25, 1.1, 0.3, 0.1
# Standard deviations by which a clock or a scale has to be out of reach to be excluded.
_SIGMAS = 3.0
# Torques are not known better than this, in parts.
_MISMATCH = 0.01
# Times as long as the prior's are the steps of a body that may carry a tool of many times its mass.
_UNKNOWN = 30.0
# Rows that are looked at, spread evenly; steps of the derivatives by positions in [rad] or [m].
_ROWS, _STEP = 2000, 0.02
# Logarithms of scales that are tried. What is best at the ends is no scale: the joint then shares
# too little with the others.
_SCALES = np.linspace(-2.4, 2.4, 13)


class FaultKind(enum.Enum):
    """Errors of a recording that are tested for; the values are the columns' names."""

    SCALE = 'scale'
    GAIN = 'gain'
    ZERO = 'zero'
    CLOCK = 'clock'


@dataclass(frozen=True)
class Contradiction:
    """Something of a recording that contradicts the rest of it.

    Attributes:
        kind: What it is.
        joint: Name of the joint; empty for the clock.
        value: Effort per torque; part by which that grows up to the largest torque; what has to
            be added to the positions in [rad] or [m]; seconds that the stamps count in one second.
        evidence: How much better the rows are explained with it, in squared standard deviations.
        joints: All joints, in their order.
    """

    kind: FaultKind
    joint: str
    value: float
    evidence: float
    joints: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The finding in words."""
        sure = f'by {self.evidence**0.5:.0f} standard deviations, whatever the masses are'
        if self.kind is FaultKind.SCALE:
            return (
                f'{self.joint}: the efforts of the other joints agree with its own only if that '
                f'is {self.value:.3g} times the torque ({sure}).')
        if self.kind is FaultKind.GAIN:
            grows = 'grows' if self.value > 0.0 else 'shrinks'
            return (
                f'{self.joint}: the efforts of the other joints agree with its own only if its '
                f'gain {grows} with the load, by about {100.0 * abs(self.value):.0f} % up to the '
                f'largest torque ({sure}).')
        if self.kind is FaultKind.ZERO:
            return (
                f'{self.joint}: the efforts agree with its positions only if about '
                f'{self.value:+.2g} is added to these ({sure}).')
        return (
            'Weights and accelerations agree only if the stamps count about '
            f'{self.value:.3g} s in one second ({sure}).')

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        if self.kind is FaultKind.SCALE:
            return (
                'Check torque constant and gear of the joint: '
                f'{signal_line("effort", "scale", self.joints, {self.joint: 1.0 / self.value}, 1)}'
                ', times what is there now, would agree.')
        if self.kind is FaultKind.GAIN:
            return (
                'Check the torque constant of the joint at small and large loads and the limits '
                'of its drive; record a smaller load or slower motion.')
        if self.kind is FaultKind.ZERO:
            return (
                'Check the zero of the joint against the description, and whether the robot '
                'stands as the description says: '
                f'{signal_line("position", "offset", self.joints, {self.joint: self.value}, 0)}'
                ', added to what is there now, would agree.')
        return (
            'Check unit and rate of the stamps (recording.time), the units of the positions, and '
            'whether something other than the drives carries weight, such as a spring.')


@dataclass(frozen=True)
class ScoreTest:
    r"""Result of the score test of a recording's rows.

    Attributes:
        contradictions: What contradicts the rest of the rows, the clearest first.
        log_clock: Logarithm of the seconds that the stamps count in one second, to first order,
            with no other column beside it.
        log_clock_deviation: Its standard deviation; infinite where nothing tells it.
        log_scales: The same of each effort's scale by its own column alone, with its deviation;
            empty where nothing was tested.
    """

    contradictions: tuple[Contradiction, ...] = ()
    log_clock: float = 0.0
    log_clock_deviation: float = np.inf
    log_scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def excludes_clock(self, log_clock: float) -> bool:
        """Whether even half of a clock's logarithm is out of reach of what the rows say."""
        return _is_excluded(log_clock, self.log_clock, self.log_clock_deviation)

    def excludes_scale(self, joint: str, log_scale: float) -> bool:
        """Whether even half of a scale's logarithm is out of reach of what the rows say."""
        return _is_excluded(log_scale, *self.log_scales[joint])


def score_test(
    problem: RegressionProblem, estimate: Estimate, products: np.ndarray | None = None, *,
    tools: bool = True,
) -> ScoreTest:
    """Score test of the rows against a wrong scale of an effort, zero of a joint, or clock.

    Args:
        problem: Rows that were fitted.
        estimate: What was found; its residuals say how far rows are to be believed.
        products: Those of :func:`score_products`, where they are at hand.
        tools: Whether the robot may carry tools that the prior lacks: not where that was found from
            another recording. The zero of a last joint turns what it carries, and nothing else.

    Returns:
        Nothing found where loops are closed, the base floats, drive gains are sought, or the motion
        is not at hand.
    """
    if products is None:
        products = score_products(problem, estimate, tools=tools)
    if not products.size:
        return ScoreTest()
    evidence = _Evidence(problem.model.robot.joint_names, products)
    found = evidence.selected()
    return ScoreTest(
        tuple(one for one in evidence.described(found) if _is_large(one)), *evidence.log_clock(),
        evidence.log_scales())


def score_products(
    problem: RegressionProblem, estimate: Estimate, *, tools: bool = True
) -> np.ndarray:
    r"""Products :math:`A_j^T A_j` of each joint's weighted rows :math:`A_j = [G, g, \tau, C]`.

    G belongs to the prior's steps z, g to the values at z = 0, C to what may be wrong.

    Args:
        problem: Rows that were fitted.
        estimate: What was found.
        tools: See :func:`score_test`.

    Returns:
        Shape ``(n, k, k)``; empty where nothing can be tested.
    """
    robot = problem.model.robot
    # Motion of a base that floats has sensors of its own, whatever clock the joints have.
    closed = robot.loops is not None or bool(robot.base_joints)
    if problem.motion is None or closed or not estimate.status.found_values or (
            problem.model.at(estimate.parameters.values).gains != 1.0).any():
        return np.empty(0)
    problem = frozen_at(problem, estimate.parameters.values)
    rows = np.arange(0, len(problem.torque), -(-len(problem.torque) // _ROWS))
    assert problem.motion is not None
    data, parallel = problem.motion.dataset, problem.motion.parallel_filter
    own = np.stack([np.ones_like(data.v), data.v, np.sign(data.v), data.a], axis=-1)
    own = parallel.apply(own, data.rate, data.segments)[0]
    tried = _columns(problem, estimate)
    size = problem.scale.shape[1] + 2 + tried.shape[2]
    products = np.zeros((len(robot.joint_names), size, size))
    steps = _with_tools(problem) if tools else problem.scale
    for joint, weight in enumerate(_weights(problem, estimate, rows)):
        used = rows[problem.usable[rows, joint]]
        if not (weight > 0.0 and len(used)):
            continue
        regressor = problem.regressor[used, joint]
        stack = np.column_stack([
            regressor @ steps, regressor @ problem.reference,
            problem.torque[used, joint], tried[used, joint]])
        basis = scipy.linalg.orth(own[used, joint])
        stack = weight * (stack - basis @ (basis.T @ stack))
        products[joint] = stack.T @ stack
    return products


def _with_tools(problem: RegressionProblem) -> np.ndarray:
    """The prior's steps ``(p, f)``; next to nothing is known of a body with a tool."""
    steps, parameters = problem.scale.copy(), problem.parameters
    for body in load_carriers(problem.model.robot):
        steps[parameters.body_slice(body)] *= _UNKNOWN
    return steps


def _is_excluded(logarithm: float, found: float, deviation: float) -> bool:
    """Whether even half of a logarithm is out of reach of what was found."""
    return abs(found) + _SIGMAS * deviation < 0.5 * abs(logarithm)


def _is_large(found: Contradiction) -> bool:
    if found.kind is FaultKind.ZERO:
        return abs(found.value) > _ZERO
    if found.kind is FaultKind.GAIN:
        return abs(found.value) > _GROWTH
    least = _SCALE if found.kind is FaultKind.SCALE else _CLOCK
    return abs(np.log(found.value)) > np.log(least)


class _Evidence:
    """What columns of the score test explain.

    Args:
        names: Names of the joints.
        products: Those of :func:`score_products`.
    """

    def __init__(self, names: tuple[str, ...], products: np.ndarray) -> None:
        self._names, self._products = names, products
        self._kinds = [
            *((kind, joint) for kind in (FaultKind.SCALE, FaultKind.GAIN, FaultKind.ZERO)
              for joint in range(len(names))), (FaultKind.CLOCK, -1)]
        # Each of the kinds has one column, of torques and efforts there is one each.
        self._steps = products.shape[1] - len(self._kinds) - 2
        self._square = self._beside_parameters()

    def _beside_parameters(self) -> np.ndarray:
        """Products of the efforts left over and of C, with the best parameters taken out."""
        products = self._products.sum(axis=0)
        f = self._steps
        normal = products[:f, :f] + np.eye(f)
        # What is left of the efforts and the columns C beside the best parameters.
        rest = np.vstack([products[f + 1] - products[f], products[f + 2:]])
        square = np.column_stack([rest[:, f + 1] - rest[:, f], rest[:, f + 2:]])
        square -= rest[:, :f] @ scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(normal), rest[:, :f].T)
        return square

    def log_clock(self) -> tuple[float, float]:
        """Logarithm of the clock's rate by its own column alone, and its standard deviation."""
        return self._alone(self._kinds.index((FaultKind.CLOCK, -1)))

    def log_scales(self) -> dict[str, tuple[float, float]]:
        """Logarithm of the scale of each effort by its own column alone, and its deviation."""
        return {name: self._alone(column) for column, name in enumerate(self._names)}

    def _alone(self, column: int) -> tuple[float, float]:
        """What a column of C alone finds, and its standard deviation."""
        information = float(self._square[1 + column, 1 + column])
        if not information > 0.0:
            return 0.0, np.inf
        return float(self._square[0, 1 + column]) / information, information**-0.5

    def selected(self) -> dict[int, float]:
        """Columns of C that explain the rows beside each other, and what each explains."""
        square = self._square
        size = np.diag(square).copy()
        found: dict[int, float] = {}
        for _ in self._kinds:
            own = np.diag(square)
            told = own > 1e-6 * size
            explained = np.where(told, square[0], 0.0)**2 / np.where(told, own, 1.0)
            best = 1 + int(np.argmax(explained[1:]))
            if not explained[best] > max(_DECISIVE, _BESIDE * max(found.values(), default=0.0)):
                break
            found[best - 1] = float(explained[best])
            square = square - np.outer(square[:, best], square[best]) / square[best, best]
        return found

    def described(self, found: dict[int, float]) -> Iterator[Contradiction]:
        """Contradictions that were selected, with their values."""
        scales, moved = self._scales(found)
        for at, column in enumerate(column for column in found if column >= len(self._names)):
            kind, joint = self._kinds[column]
            yield Contradiction(
                kind, '' if kind is FaultKind.CLOCK else self._names[joint],
                float(np.exp(moved[at]) if kind is FaultKind.CLOCK else moved[at]), found[column],
                self._names)
        for column, explained in found.items():
            if column < len(self._names) and scales[column] != 1.0:
                yield Contradiction(
                    FaultKind.SCALE, self._names[column], float(scales[column]), explained,
                    self._names)

    def _scales(self, found: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Scales of all efforts, with those that were selected free, and values of the others."""
        beside = [self._steps + 2 + column for column in found if column >= len(self._names)]
        scales = np.ones(len(self._names))
        for joint in (column for column in found if column < len(self._names)):
            def misfit(logarithm: float, joint: int = joint) -> float:
                tried = scales.copy()
                tried[joint] = np.exp(logarithm)
                return self._misfit(tried, beside)[0]

            least = int(np.argmin([misfit(float(one)) for one in _SCALES]))
            if 0 < least < len(_SCALES) - 1:
                near, step = float(_SCALES[least]), float(_SCALES[1] - _SCALES[0])
                scales[joint] = np.exp(minimize_scalar(
                    misfit, bounds=(near - step, near + step), method='bounded',
                    options={'xatol': 1e-3}).x)
        return scales, self._misfit(scales, beside)[1]

    def _misfit(self, scales: np.ndarray, beside: list[int]) -> tuple[float, np.ndarray]:
        """The smallest misfit at scales ``(n,)`` with columns of C beside G, and their factors."""
        f = self._steps
        columns = [*range(f), *beside]
        predicted, mixed = (
            np.tensordot(factor, self._products, axes=1) for factor in (scales**2, scales))
        normal = predicted[np.ix_(columns, columns)]
        normal[range(f), range(f)] += 1.0
        right = mixed[columns, f + 1] - predicted[columns, f]
        best = scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), right)
        size = self._products[:, f + 1, f + 1].sum() - 2.0 * mixed[f, f + 1] + predicted[f, f]
        return float(size - right @ best), best[f:]


def _columns(problem: RegressionProblem, estimate: Estimate) -> np.ndarray:
    """Derivatives of the bodies' torque by what may be wrong, filtered, ``(T', n, 3 n + 1)``."""
    assert problem.motion is not None
    data, robot = problem.motion.dataset, problem.model.robot
    phi = estimate.parameters.values[:10 * len(robot.body_names)]
    still, joints = np.zeros_like(data.v), np.arange(data.v.shape[1])
    torque = recursive_newton_euler(robot, phi, data.q, data.v, data.a)
    largest = np.maximum(np.abs(torque).max(axis=0), np.finfo(float).tiny)
    plain = np.empty((*torque.shape, len(joints) + 3))
    plain[:, :, 0], plain[:, :, 1] = torque, torque * np.abs(torque) / largest
    for joint, step in enumerate(_STEP * np.eye(len(joints))):
        above, below = (
            recursive_newton_euler(robot, phi, data.q + side * step, data.v, data.a)
            for side in (1.0, -1.0))
        plain[:, :, 2 + joint] = (above - below) / (2.0 * _STEP)
    plain[:, :, -1] = 2.0 * (torque - recursive_newton_euler(robot, phi, data.q, still, still))
    rows = problem.motion.parallel_filter.apply(plain, data.rate, data.segments)[0]
    # Scale and gain of an effort change no other one: these columns are zero but for one joint, and
    # to filter them would take more than half of the time.
    columns = np.zeros((*rows.shape[:2], 3 * len(joints) + 1))
    columns[:, joints, joints] = rows[:, joints, 0]
    columns[:, joints, len(joints) + joints] = rows[:, joints, 1]
    columns[:, :, 2 * len(joints):] = rows[:, :, 2:]
    return columns


def _weights(problem: RegressionProblem, estimate: Estimate, rows: np.ndarray) -> np.ndarray:
    """Weight of each joint's rows, which count as often as independent ones, ``(n,)``."""
    residuals, used = estimate.residuals, problem.usable[rows]
    torque = np.where(used, problem.torque[rows], 0.0)
    count = np.maximum(used.sum(axis=0), 1)
    sigma = np.maximum(
        residuals.rms_per_joint, _MISMATCH * np.sqrt(np.sum(torque**2, axis=0) / count))
    with np.errstate(divide='ignore', invalid='ignore'):
        weight = np.sqrt(residuals.effective_rows / count) / sigma
    return np.where(np.isfinite(weight), weight, 0.0)
