"""Pendulums on real bearings: recordings of free swing, and descriptions to fit to them.

Angles of the recordings are absolute, zero upright. The first link of the double pendulum is as
long as published; everything else is a guess: uniform rods of 100 g, a little friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.io

from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.shooting import Shooting
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, StribeckFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

# The recordings' sampling time in [s], and noise of an angle in [rad].
SAMPLING, SIGMA = 1e-3, 2e-3
# Speed in [rad/s] over which dry friction changes its sign; extra friction at low speed cannot
# fall off faster than that.
SMOOTHING = 0.05
VISCOUS = (ViscousFriction(),)
DRY = (*VISCOUS, CoulombFriction(smoothing=SMOOTHING))
STRIBECK = (*DRY, StribeckFriction(smoothing=SMOOTHING))
FRICTION = {'viscous': VISCOUS, 'viscous and dry': DRY, 'Stribeck': STRIBECK}


def rod(name: str, length: float, mass: float = 0.1) -> str:
    """A uniform rod that stands on its joint when upright."""
    moment = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {length / 2.0}"/>'
        f'<mass value="{mass}"/><inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" '
        f'iyz="0" izz="{0.01 * moment}"/></inertial></link>')


def hinge(name: str, parent: str, child: str, height: float = 0.0) -> str:
    """A continuous joint about y."""
    return (
        f'<joint name="{name}" type="continuous"><origin xyz="0 0 {height}"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>'
        '<dynamics damping="1e-4"/></joint>')


@dataclass(frozen=True, eq=False)
class Swing:
    """One recorded segment of free swing, of n links.

    Attributes:
        t: In [s], shape ``(T,)``.
        angles: Absolute ones in [rad], zero upright, shape ``(T, n)``.
        speeds: In [rad/s], shape ``(T, n)``.
    """

    t: np.ndarray
    angles: np.ndarray
    speeds: np.ndarray

    @property
    def joints(self) -> np.ndarray:
        """Angles of each link to the one before, and of the first to the vertical below."""
        return np.diff(self.angles, axis=1, prepend=np.pi)


@dataclass(frozen=True)
class Pendulum:
    """A pendulum and its recordings.

    Attributes:
        name: As the recordings' folder begins.
        urdf: Its description.
        sensor: What measured absolute angles.
        bodies: Inertial parameters to identify. Free swing shows ratios of parameters only, so
            that the first moment of the first link is held, and masses, which act like it.
    """

    name: str
    urdf: str
    sensor: Encoder
    bodies: tuple[str, ...]

    def model(self, terms: Sequence[JointTerm] = VISCOUS) -> TorqueModel:
        """The pendulum with joint terms."""
        return TorqueModel(RobotModel.from_urdf(self.urdf), terms)

    def parameters(self, model: TorqueModel) -> ParameterSet:
        """Parameters of the bodies and all of friction are free."""
        parameters = model.parameters
        joints = tuple(f'{name}.' for name in model.robot.joint_names)
        lower = [
            SMOOTHING if name.endswith('.stribeck_velocity') else bound
            for name, bound in zip(parameters.names, parameters.lower, strict=True)]
        return replace(parameters, lower=np.array(lower), free=np.array([
            name in self.bodies or name.startswith(joints) for name in parameters.names]))

    def swings(self, folder: Path, kind: str, every: int = 1) -> tuple[Swing, ...]:
        """Recorded segments.

        Args:
            folder: Of all the recordings.
            kind: ``'id'`` to fit, ``'vad'`` to validate.
            every: Which samples to take.
        """
        file = f'{self.name}DataForParameterEstimation.mat'
        cells = scipy.io.loadmat(self._folder(folder) / file)[f'Y_{kind}'].ravel()
        return tuple(
            Swing(every * SAMPLING * np.arange(len(rows)), *np.split(rows, 2, axis=1))
            for rows in (np.array(cell.T[::every]) for cell in cells))

    def segments(self, folder: Path, kind: str, every: int = 1) -> tuple[Segment, ...]:
        """The segments as segments of a trajectory problem; arguments as for :meth:`swings`."""
        return tuple(map(self._segment, self.swings(folder, kind, every)))

    def _folder(self, folder: Path) -> Path:
        return folder / 'multiarm_pendulum' / 'ParameterEstimation' / self.name

    def _segment(self, swing: Swing) -> Segment:
        seen = Observation(
            self.sensor, swing.t, swing.angles, np.full(swing.angles.shape[1], SIGMA))
        # From absolute to relative angles.
        start = np.diff(np.array([swing.angles[0], swing.speeds[0]]), prepend=0.0, axis=1)
        return Segment(swing.t, np.zeros_like(swing.angles), (seen,), start)

    def published(self, folder: Path) -> np.ndarray:
        """Identified values that came with the recordings."""
        file = f'EstimatedParameters_{self.name}.mat'
        return scipy.io.loadmat(self._folder(folder) / file)['EstimatedParameters'].ravel()


SINGLE = Pendulum(
    'SinglePendulum',
    f'<robot name="single"><link name="base"/>{rod("arm", 0.3)}'
    f'{hinge("pivot", "base", "arm")}</robot>',
    Encoder.of(['pivot']), ('arm.inertia_yy',))
LENGTH = 0.172719
DOUBLE = Pendulum(
    'DoublePendulum',
    f'<robot name="double"><link name="base"/>{rod("upper", LENGTH)}{rod("lower", 0.2)}'
    f'{hinge("shoulder", "base", "upper")}{hinge("elbow", "upper", "lower", LENGTH)}</robot>',
    Encoder(((('shoulder', 1.0),), (('shoulder', 1.0), ('elbow', 1.0)))),
    ('upper.inertia_yy', 'lower.first_moment_z', 'lower.inertia_yy'))


def fitted(problem: TrajectoryProblem, **settings: object) -> TrajectorySolution:
    """Fit short pieces first, on which no guess is too wrong, then whole segments."""
    rough = Shooting(horizon=0.3, tolerance=1e-3).solve(problem)
    near = problem.parameters.with_values(rough.values)
    return Shooting(**settings).solve(replace(problem, parameters=near))


def cost(problem: TrajectoryProblem, solution: TrajectorySolution) -> float:
    """Half the sum of squared weighted residuals."""
    return sum(
        0.5 * float(np.sum((residual / observation.sigma) ** 2))
        for segment, parts in zip(problem.segments, solution.residuals, strict=True)
        for observation, residual in zip(segment.observations, parts, strict=True))


def held_out(
    problem: TrajectoryProblem, values: np.ndarray, segments: Sequence[Segment], starts: str
) -> np.ndarray:
    """Root mean square errors of simulated segments in [rad], one row each.

    Args:
        problem: Whose model and parameters are meant.
        values: Parameter values.
        segments: The segments.
        starts: ``'recorded'``, or ``'estimated'`` on the segment itself.
    """
    fixed = problem.parameters.with_values(values).fixed('*')
    errors = []
    for segment in segments:
        alone = TrajectoryProblem(problem.model, fixed, (segment,))
        residual = Shooting(starts=starts).solve(alone).residuals[0][0]
        errors.append(np.sqrt(np.mean(residual**2, axis=0)))
    return np.array(errors)


def nested(
    pendulum: Pendulum, segments: Sequence[Segment], **settings: object
) -> dict[str, tuple[TrajectoryProblem, TrajectorySolution]]:
    """Fits with ever more friction, each from where the smaller one ended."""
    found, near = {}, {}
    for name, terms in FRICTION.items():
        model = pendulum.model(terms)
        parameters = pendulum.parameters(model).with_values(near)
        problem = TrajectoryProblem(model, parameters, tuple(segments))
        fit = fitted if not found else lambda problem, **chosen: Shooting(**chosen).solve(problem)
        solution = fit(problem, **settings)
        near = dict(zip(parameters.names, solution.values, strict=True))
        found[name] = problem, solution
    return found
