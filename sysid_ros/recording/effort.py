r"""What a recorded effort really is, told by the prior model.

The torque of a joint should be :math:`\tau = \Gamma\theta + \text{friction}` with parameters
near the prior, and friction that opposes the motion. A current or a motor-side torque is s
times that, a sensor with the wrong sign has s < 0, and a controller that takes gravity off
leaves its part out. The error of the best fit as a function of s, with and without gravity,
decides between them; parameters may stray from the prior at a price, friction and drive
inertia are free but not negative, so that a wrong prior by itself raises no alarm.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from sysid_ros.dynamics.regressor import inertial_regressor
from sysid_ros.dynamics.terms import Stiffness
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import RecordingError
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.inertia import central_inertia, inertial_parameters, is_consistent
from sysid_ros.robot.model import RobotModel

# How far a prior may well be off: masses and inertias in parts, centres of mass in [m].
_MASS, _CENTRE, _INERTIA = 0.2, 0.02, 0.3

# Scales tried, and those that are no reason for alarm: a wrong prior explains them.
_SCALES = np.geomspace(1e-3, 1e3, 61)
_PLAUSIBLE = (0.35, 3.0)

# The model is not better than this, in parts of the torque; and its errors this far apart in
# [s] are independent.
_MISMATCH, _STRETCH = 0.05, 0.1

# Cost, in squared standard deviations, by which another reading has to fit better.
_DECISIVE = 20.0

# Correlation with the prior's prediction, without friction, from which its scale is believed.
_CORRELATED = 0.5

# Part of the torque that some reading has to explain, before any is believed.
_EXPLAINED = 0.5

# Rows that are looked at, spread evenly over the recording.
_ROWS = 2000


class EffortKind(enum.Enum):
    """What an effort looks like; the values are clauses for sentences."""

    JOINT_TORQUE = 'a torque at the joint'
    WRONG_SIGN = 'a torque at the joint with the wrong sign'
    MOTOR_SIDE = 'a torque at the motor, before the gears'
    SCALED = 'a current or a motor-side torque'
    GRAVITY_COMPENSATED = 'a torque without the part that carries gravity'
    UNRELATED = 'nothing the model could make of this motion'
    UNKNOWN = 'something that prior and motion do not settle'

    @property
    def usable(self) -> bool:
        """Whether a fit may go on without asking."""
        return self in (EffortKind.JOINT_TORQUE, EffortKind.UNKNOWN)


@dataclass(frozen=True)
class EffortFinding:
    """What the effort of one joint looks like.

    Attributes:
        joint: Name of the joint.
        kind: What it looks like.
        scale: Recorded effort per torque of the best reading, signed; its sign is wrong when
            negative.
        explained: Part of the recorded effort that this reading explains, from 0 to 1.
        correlation: Correlation of the effort with what this reading predicts.
        suggestion: What to change in the settings, if anything.
    """

    joint: str
    kind: EffortKind
    scale: float
    explained: float
    correlation: float
    suggestion: str = ''

    @property
    def wrong_sign(self) -> bool:
        """Whether the sign is wrong, whatever else is."""
        return not self.kind.usable and self.kind is not EffortKind.UNRELATED and self.scale < 0

    @property
    def sentence(self) -> str:
        """The finding in words."""
        text = f'{self.joint}: the effort looks like {self.kind.value}'
        if self.kind is not EffortKind.UNKNOWN:
            text += f': {self.scale:.2g} of the predicted, correlation {self.correlation:.2f}'
        return f'{text}. {self.suggestion}' if self.suggestion else text


def effort_findings(
    dataset: Dataset, model: TorqueModel, ratios: Mapping[str, float] | None = None
) -> tuple[EffortFinding, ...]:
    """What the effort of every joint looks like, one finding per joint.

    Nothing is changed in the data.

    Args:
        dataset: Motion and effort.
        model: Torque model with the prior; its joints must be the dataset's, in order.
        ratios: Motor turns per joint turn by joint, as far as known, which tells a
            motor-side torque from a current.

    Raises:
        RecordingError: The joints differ.
    """
    if dataset.joint_names != model.robot.joint_names:
        raise RecordingError(
            'the data holds other joints than the model', where=dataset.source,
            found=', '.join(dataset.joint_names), allowed=', '.join(model.robot.joint_names),
        )
    gears = ratios or {}
    return tuple(
        _judge(name, readings, gears.get(name))
        for name, readings in zip(dataset.joint_names, _readings(dataset, model), strict=True)
    )


def require_right_signs(findings: Sequence[EffortFinding]) -> None:
    """Refuse efforts of the wrong sign.

    Args:
        findings: Findings of :func:`effort_findings`.

    Raises:
        RecordingError: The joints, and what to put into the settings.
    """
    wrong = [finding for finding in findings if finding.wrong_sign]
    if wrong:
        raise RecordingError(
            f'the effort of {", ".join(finding.joint for finding in wrong)} has the wrong sign',
            where='recording.effort', found='; '.join(finding.sentence for finding in wrong),
            allowed='torques that drive the motion: τ = M(q) a + C v + g + friction',
            fix='Set recording.effort.sign to -1 for these joints, or processing.effort_check: '
            'warn if the model is wrong instead',
        )


def _readings(dataset: Dataset, model: TorqueModel) -> Iterator[list[_Reading]]:
    """For every joint the effort with gravity and without; none where there is no effort."""
    rows = np.arange(0, len(dataset), max(len(dataset) // _ROWS, 1))
    q, v, a = dataset.q[rows], dataset.v[rows], dataset.a[rows]
    full = inertial_regressor(model.robot, q, v, a)
    gravity = inertial_regressor(model.robot, q, np.zeros_like(v), np.zeros_like(a))
    springs = any(isinstance(term, Stiffness) for term in model.terms)
    free = np.stack([np.ones_like(q), *([q] if springs else [])], axis=-1)
    friction = np.stack([v, np.sign(v), a], axis=-1)
    spread = _prior_spread(model.robot)
    prior = model.robot.reference_inertials.reshape(-1)
    independent = max(dataset.duration / _STRETCH, 10.0)
    for joint in range(len(dataset.joint_names)):
        used = dataset.mask[rows, joint]
        tau = dataset.tau[rows, joint][used]
        if len(tau) <= 2 * len(prior) or np.ptp(tau) == 0:
            yield []
            continue
        readings = [
            _Reading(
                part[used, joint] @ spread, part[used, joint] @ prior, free[used, joint],
                friction[used, joint], tau,
            ) for part in (full, full - gravity)
        ]
        least = _MISMATCH * float(np.linalg.norm(readings[0].tau))
        noise = max(least, min(reading.misfit for reading in readings))
        for reading in readings:
            reading.weigh(np.sqrt(min(independent, len(tau))) / noise)
        yield readings


def _prior_spread(robot: RobotModel) -> np.ndarray:
    """How the parameters of each body may stray from the prior, shape ``(10 b, 10 b)``."""
    bodies = len(robot.body_names)
    spread = np.zeros((10 * bodies, 10 * bodies))
    for body, phi in enumerate(robot.reference_inertials):
        block = slice(10 * body, 10 * body + 10)
        spread[block, block] = _body_spread(phi)
    return spread


def _body_spread(phi: np.ndarray) -> np.ndarray:
    if not is_consistent(phi):
        return np.diag(np.abs(phi) + 1e-6)
    mass, centre, inertia = central_inertia(phi)
    columns = [_MASS * phi]
    for axis in range(3):
        moved = centre + _CENTRE * np.eye(3)[axis]
        columns.append(inertial_parameters(mass, moved, inertia) - phi)
    size = np.sqrt(np.diag(inertia)) + np.sqrt(mass) * _CENTRE
    for row, column in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
        change = np.zeros((3, 3))
        change[row, column] = change[column, row] = _INERTIA * size[row] * size[column]
        columns.append(inertial_parameters(mass, centre, inertia + change) - phi)
    return np.array(columns).T


class _Reading:
    r"""One way to read an effort: its cost as a function of the scale s.

    With :math:`\tau = s\,(P z + p_0 + F c)`, deviations z of the prior cost
    :math:`\|z\|^2`, the friction c is free but not negative, offsets are free.
    """

    def __init__(
        self, spread: np.ndarray, prior: np.ndarray, free: np.ndarray, friction: np.ndarray,
        tau: np.ndarray,
    ) -> None:
        # Offsets and springs take what they can of everything else.
        stack = _without(free, np.column_stack([spread, friction, prior, tau]))
        triangle = np.linalg.qr(stack)[1]
        width = spread.shape[1]
        left, gains, _ = np.linalg.svd(triangle[:, :width])
        self._gains = np.pad(gains, (0, len(triangle) - len(gains)))
        turned = left.T @ triangle[:, width:]
        drag, self._prior, self.tau = turned[:, :-2], turned[:, -2], turned[:, -1]
        size = np.linalg.norm(drag, axis=0)
        self._friction = drag / np.where(size > 0, size, 1.0)
        #: What even parameters without any prior leave of the effort, its norm.
        self.misfit = float(abs(triangle[-1, -1]))
        # Viscous and dry friction are taken out, drive inertia is not: it moves like the links.
        bare = _without(np.column_stack([free, friction[:, :2]]), np.column_stack([prior, tau]))
        norms = np.linalg.norm(bare, axis=0)
        #: Correlation of effort and prior prediction, both without friction and offset.
        self.correlation = float(bare[:, 0] @ bare[:, 1] / norms.prod()) if norms.all() else 0.0

    def weigh(self, weight: float) -> None:
        """Count the misfit in standard deviations of independent errors."""
        self._gains, self._prior, self.tau = (
            weight * part for part in (self._gains, self._prior, self.tau)
        )

    def cost(self, scale: float) -> float:
        """Minus twice the logarithm of the evidence for a scale, up to a constant.

        Beside the misfit it counts the room for deviations, so that a scale at which the
        prior could be bent to any torque does not win by that.
        """
        misfit, shrink = self._fit(scale)
        return float((misfit * shrink) @ (misfit * shrink) - 2.0 * np.log(shrink).sum())

    def _fit(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        # Deviations from the prior, taken out in closed form, only shrink the misfit.
        shrink = 1.0 / np.sqrt(1.0 + (scale * self._gains) ** 2)
        target = self.tau - scale * self._prior
        friction, _ = nnls(np.sign(scale) * self._friction * shrink[:, None], target * shrink)
        return target - np.sign(scale) * self._friction @ friction, shrink

    def predicted(self, scale: float) -> tuple[float, float]:
        """Explained part of the effort, and correlation with the prediction."""
        misfit, shrink = self._fit(scale)
        predicted = self.tau - misfit * shrink**2
        size = float(self.tau @ self.tau)
        explained = 1.0 - float((self.tau - predicted) @ (self.tau - predicted)) / size
        norm = float(np.linalg.norm(predicted)) * np.sqrt(size)
        return max(explained, 0.0), float(predicted @ self.tau) / norm if norm > 0 else 0.0


def _without(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    basis = np.linalg.qr(columns)[0]
    return values - basis @ (basis.T @ values)


def _judge(name: str, readings: list[_Reading], ratio: float | None) -> EffortFinding:
    if not readings:
        return EffortFinding(name, EffortKind.UNKNOWN, 1.0, 0.0, 0.0)
    scales = np.concatenate([-_SCALES[::-1], _SCALES])
    costs = np.array([[reading.cost(float(scale)) for scale in scales] for reading in readings])
    # Friction opposes motion: it tells the sign even where the prior tells nothing.
    wrong = costs[:, scales > 0].min() - costs[:, scales < 0].min() > _DECISIVE
    sign = -1.0 if wrong else 1.0
    costs[:, sign * scales < 0] = np.inf
    which, at = divmod(int(np.argmin(costs)), len(scales))
    # Without a load of gravity both readings are one: the simple one holds.
    if which == 1 and costs[0].min() - costs[1, at] < _DECISIVE:
        which, at = 0, int(np.argmin(costs[0]))
    size = np.abs(scales)
    plausible = np.where((size >= _PLAUSIBLE[0]) & (size <= _PLAUSIBLE[1]), costs[0], np.inf)
    believed = sign * readings[which].correlation > _CORRELATED
    odd = plausible.min() - costs[which, at] > _DECISIVE
    if not (odd and believed):
        which, at = 0, int(np.argmin(plausible))
    scale = float(scales[at])
    explained, correlation = readings[which].predicted(scale)
    kind = _kind(scale, bool(which), ratio)
    if odd and not believed and not wrong:
        kind = EffortKind.UNKNOWN
    elif explained < _EXPLAINED:
        kind = EffortKind.UNRELATED
    return EffortFinding(name, kind, scale, explained, correlation, _suggestion(kind, scale))


def _kind(scale: float, without_gravity: bool, ratio: float | None) -> EffortKind:
    if without_gravity:
        return EffortKind.GRAVITY_COMPENSATED
    if _PLAUSIBLE[0] <= abs(scale) <= _PLAUSIBLE[1]:
        return EffortKind.JOINT_TORQUE if scale > 0 else EffortKind.WRONG_SIGN
    if ratio is not None and _PLAUSIBLE[0] <= abs(scale * ratio) <= _PLAUSIBLE[1]:
        return EffortKind.MOTOR_SIDE
    return EffortKind.SCALED


def _suggestion(kind: EffortKind, scale: float) -> str:
    sign = ' and recording.effort.sign to -1' if scale < 0 else ''
    if kind is EffortKind.WRONG_SIGN:
        return 'Set recording.effort.sign to -1 for this joint'
    if kind is EffortKind.MOTOR_SIDE:
        return f'Set recording.effort.side to motor{sign}, with the transmission'
    if kind is EffortKind.SCALED:
        return (
            f'Set recording.effort.scale to the torque per unit at this joint, about '
            f'{1 / abs(scale):.2g}{sign}, or side to motor if the gears are left out'
        )
    if kind is EffortKind.GRAVITY_COMPENSATED:
        return 'Record the whole torque: masses cannot be told without the load of gravity'
    if kind is EffortKind.UNRELATED:
        return "Check that the columns are in the order of recording.joints, and the robot's base"
    return ''
