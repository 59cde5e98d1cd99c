"""Optimal excitation: of all motions that are allowed, one that tells most.

A relaxed barrier keeps the search off the limits; what it finds is drawn towards rest until it
passes a dense grid, and nothing that does not pass is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import ConfigDict
from scipy.optimize import minimize

from sysid_ros.errors import ConfigurationError, ExcitationError, UnreachableError
from sysid_ros.excitation.design.basis import Basis
from sysid_ros.excitation.design.closed_loops import LoopConstraint, from_rest, loop_constraints
from sysid_ros.excitation.design.constraints import Check, Constraint, JointLimitConstraint
from sysid_ros.excitation.design.information import (
    Criterion,
    Information,
    criterion_of,
    determinant,
)
from sysid_ros.excitation.design.objective import DesignObjective, largest_share
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.loop_guard import LoopGuard
from sysid_ros.excitation.safety.verification import Verification, verify
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.torque_model import TorqueModel

# Weights of the barrier from stage to stage, and the slack below which it is relaxed. The
# determinant grows with the number of base parameters that a motion tells, and its barrier with
# it; the others look at one direction only, and a search for them begins where the determinant is
# best.
_BROAD = ((1e-1, 1e-2), (1e-2, 1e-3), (1e-3, 1e-3))
_NARROW = ((1e-2, 1e-3), (1e-3, 1e-3))
# A gain of the criterion below this is none; for the determinant, per base parameter.
_GAIN = 1e-3
# Random poses that are tried to find one to rest in.
_POSES = 200
# Cost of a motion that closed loops cannot follow.
_BEYOND = 1e9
# Slack at rest that leaves room to begin, and where a search begins on the way to a limit.
_ROOM = 0.02
_BEGIN = 0.9
# Grids coarser than this in [Hz] say too little of a motion.
_LEAST_RATE = 100.0
# However slowly a motion is played, it is verified at this rate in [Hz] at least.
_SLOWEST_RATE = 40.0


@dataclass(frozen=True)
class DesignSettings:
    """How a motion is searched for.

    Attributes:
        criterion: ``determinant``, ``condition`` or ``eigenvalue``.
        margin: Part of every position range and of every velocity, acceleration and jerk
            limit that is kept free.
        effort_margin: Part of every torque limit that is kept free, since the torques are
            predicted with a prior that is not certain.
        singularity_margin: Part of its singularity margin as assembled that a robot with
            closed loops keeps.
        starts: Most random beginnings that are tried.
        patience: The search ends after so many of them without a gain.
        iterations: Most steps in each of the stages of a search.
        seed: Seed of the beginnings.
        samples_per_period: Samples of the design grid in the shortest period of the motion.
        rows_per_second: Rows that count as independent, per second of recording.
        verification_rate: Rate of the grid on which a motion is verified in [Hz].
    """

    criterion: str = 'determinant'
    margin: float = 0.05
    effort_margin: float = 0.2
    singularity_margin: float = 0.2
    starts: int = 4
    patience: int = 3
    iterations: int = 200
    seed: int = 0
    samples_per_period: int = 20
    rows_per_second: float = 25.0
    verification_rate: float = 1000.0

    # Read by the validation of settings files.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra='forbid')

    def __post_init__(self) -> None:
        criterion_of(self.criterion)
        for name, lowest in (
            ('starts', 1), ('patience', 1), ('iterations', 1), ('seed', 0),
            ('samples_per_period', 4),
        ):
            value = getattr(self, name)
            if value != int(value) or value < lowest:
                raise ConfigurationError(
                    'cannot be used', where=f'design.{name}', found=value,
                    allowed=f'a whole number, {lowest} or more',
                    fix='Leave it out for its default',
                )
        if not (self.rows_per_second > 0.0 and self.verification_rate >= _LEAST_RATE):
            raise ConfigurationError(
                'the rates cannot be used', where='design',
                found=f'rows_per_second {self.rows_per_second}, '
                f'verification_rate {self.verification_rate}',
                allowed=f'above 0, and {_LEAST_RATE:.0f} Hz or more',
                fix='Leave it out for its default',
            )
        for name in ('margin', 'effort_margin', 'singularity_margin'):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigurationError(
                    'is not a part', where=f'design.{name}', found=getattr(self, name),
                    allowed='from 0 to below 1',
                    fix='Say 0.1 for a tenth',
                )


#: Called after each beginning with its number, its cost (infinite where nothing feasible was
#: found) and the best cost so far.
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True, eq=False)
class Designer:
    """A search for motions of a robot.

    Attributes:
        model: The torque model; its prior predicts torques.
        information: What rows tell, and what is known before.
        limits: Limits of the joints, without margins.
        basis: Family of motions.
        settings: How it searches.
        obstacles: Further constraints: clearance, a box to keep in.
        checks: What a motion is verified with besides, too slow or too rough to search by.
        clear_pose: Where the robot is known to be clear of itself and motions are begun if they
            may, shape ``(n,)``; the middle of the ranges where left out.
    """

    model: TorqueModel
    information: Information
    limits: MotionLimits
    basis: Basis
    settings: DesignSettings = DesignSettings()
    obstacles: Sequence[Constraint] = ()
    checks: Sequence[Check] = ()
    clear_pose: np.ndarray | None = None

    def design(self, progress: Progress | None = None) -> Excitation:
        """The best motion found, verified on a dense grid.

        Args:
            progress: Is told of every beginning.

        Returns:
            The motion, with its cost, the share of each limit that it uses, and the seed.

        Raises:
            ExcitationError: No allowed motion was found; what stands in the way is named.
        """
        rest = self.rest()
        best, best_cost, idle = None, np.inf, 0
        broad = criterion_of(self.settings.criterion) is determinant
        required = _GAIN * (self.information.base.rank if broad else 1)
        for number, start in enumerate(self._beginnings(rest)):
            coefficients = self._feasible(self._descend(start), rest)
            cost = np.inf if coefficients is None else self.cost(coefficients)
            idle = 0 if cost < best_cost - required else idle + 1
            if cost < best_cost:
                best, best_cost = coefficients, cost
            if progress is not None:
                progress(number, cost, best_cost)
            if idle >= self.settings.patience:
                break
        if best is None:
            raise ExcitationError(
                'no allowed motion was found', found=f'{number + 1} searches',
                fix=f'Longer duration, or more room at: {self._blocking(rest)}',
            )
        return self._excitation(best, best_cost)

    def verify(self, motion: Motion, resting: np.ndarray | None = None) -> Verification:
        """Check any motion against limits, margins and obstacles; see :func:`verify`.

        Args:
            motion: The motion.
            resting: Where the robot rests already in [rad] or [m], shape ``(n,)``, if it may be
                there: a margin of position counts from there on, up to the limit itself.
        """
        limits = self.limits.within(self.settings.margin, self.settings.effort_margin)
        loops: tuple[Check, ...] = self._loops
        if resting is not None:
            loops = from_rest(self._loops, self.model.robot, resting)
            here = np.clip(resting, self.limits.lower, self.limits.upper)
            limits = replace(
                limits, lower=np.minimum(limits.lower, here), upper=np.maximum(limits.upper, here))
        return verify(
            self.model, limits, motion, (*self.obstacles, *self.checks), loops)

    @cached_property
    def _loops(self) -> tuple[LoopConstraint, ...]:
        settings = self.settings
        return loop_constraints(self.model.robot, settings.margin, settings.singularity_margin)

    def loop_guard(self) -> LoopGuard | None:
        """Guard of the robot's closed loops during motion; None where it has none."""
        return LoopGuard.of(self.model.robot, self.limits, self.settings.singularity_margin)

    def dense(self, excitation: Excitation) -> Motion:
        """A motion on the grid it is verified on; played slower, it is the same grid of points."""
        rate = self.settings.verification_rate * min(excitation.speed, 1.0)
        return excitation.grid(max(rate, _SLOWEST_RATE))

    def rest(self) -> np.ndarray:
        """A pose from which the robot can begin to move, as coefficients ``(k, n)``.

        Raises:
            ExcitationError: Every pose that was tried breaks a limit; the limit is named.
        """
        poses = self._poses()
        objective = self.objective(1)
        slack = np.array([
            objective.slack(objective.motion(np.outer(self.basis.pose, pose))[0]).min()
            for pose in poses
        ])
        order = np.argsort(-slack, kind='stable')
        if slack[0] > _ROOM:
            order = np.append(0, order)
        chosen = next((k for k in order if self._clear(objective, poses[k])), order[0])
        rest = np.outer(self.basis.pose, poses[chosen])
        if slack[chosen] <= 0.0 or not self._clear(objective, poses[chosen]):
            raise ExcitationError(
                'there is no pose to begin from', found=f'{_POSES} poses, none allowed',
                where=self._blocking(rest), fix='Check limits, margins, payload and obstacles',
            )
        return rest

    def _poses(self) -> np.ndarray:
        """A pose to begin with, or the assembly of loops, and random poses, ``(k, n)``."""
        random, robot = np.random.default_rng(self.settings.seed), self.model.robot
        if robot.loops is not None:
            chain = closed_chain(robot)
            assembled = chain.assembly[robot.loops.actuated]
            return np.vstack([assembled, chain.random_positions(_POSES - 1, random)])
        limits = self.limits.within(self.settings.margin, 0.0)
        spread = random.uniform(-0.8, 0.8, (_POSES, len(limits.reach)))
        spread[0] = 0.0
        poses = np.asarray(limits.centre + limits.reach * spread)
        if self.clear_pose is not None:
            poses[0] = self.clear_pose
        return poses

    def _clear(self, objective: DesignObjective, pose: np.ndarray) -> bool:
        """Whether the checks besides allow a pose."""
        state = objective.motion(np.outer(self.basis.pose, pose))[0]
        return all((check.slack(state) >= 0.0).all() for check in self.checks)

    def after(self, *excitations: Excitation) -> Designer:
        """A search for a motion that goes well with others, from beginnings of its own.

        Raises:
            ExcitationError: A motion is one of another robot.
        """
        known = self.information.known
        for excitation in excitations:
            if excitation.joint_names != self.limits.joint_names:
                raise ExcitationError(
                    'the motion is one of another robot', found=', '.join(excitation.joint_names),
                    allowed=', '.join(self.limits.joint_names),
                    fix='Plan one for this robot: sysid excite, with its settings file',
                )
            own = self.settings.samples_per_period * excitation.basis.highest_frequency
            motion = excitation.grid(own * excitation.speed)
            rows = self.settings.rows_per_second * excitation.duration / len(motion.t)
            known = replace(self.information, known=known).matrix(
                self.model.regressor(motion.q, motion.v, motion.a), rows
            )
        return replace(
            self, information=replace(self.information, known=known), settings=replace(
                self.settings, seed=self.settings.seed + len(excitations)))

    def random_motion(self, rest: np.ndarray, seed: int) -> np.ndarray:
        """Random coefficients, scaled about rest until the first limit binds, ``(k, n)``."""
        random = np.random.default_rng((self.settings.seed, seed))
        motion = random.normal(size=rest.shape) * self.limits.reach
        objective = self.objective(self._grid_size())
        return rest + largest_share(lambda share: objective.allows(rest + share * motion)) * motion

    def cost(self, coefficients: np.ndarray) -> float:
        """Criterion of a motion, without constraints."""
        return self.objective(self._grid_size()).criterion_value(coefficients)

    def objective(self, samples: int) -> DesignObjective:
        """Objective of the search on a grid of so many samples, both ends included."""
        t = np.linspace(0.0, self.basis.duration, samples)
        limits = self.limits.within(self.settings.margin, self.settings.effort_margin)
        return DesignObjective(
            information=self.information,
            criterion=criterion_of(self.settings.criterion),
            constraints=(JointLimitConstraint(limits), *self._loops, *self.obstacles),
            functions=self.basis.sample(t),
            rows=self.settings.rows_per_second * self.basis.duration / samples,
            prior=self.model.parameters.prior,
        )

    def _grid_size(self) -> int:
        periods = self.basis.duration * self.basis.highest_frequency
        return int(np.ceil(self.settings.samples_per_period * periods))

    def _beginnings(self, rest: np.ndarray) -> Iterator[np.ndarray]:
        """Random motions about the rest, nearly as large as the limits allow."""
        for number in range(self.settings.starts):
            yield rest + _BEGIN * (self.random_motion(rest, number) - rest)

    def _descend(self, start: np.ndarray) -> np.ndarray:
        objective = self.objective(self._grid_size())
        effective = objective.effective_parameters(start)
        stages: list[tuple[Criterion, float, float]]
        stages = [(determinant, effective * strength, near) for strength, near in _BROAD]
        if objective.criterion is not determinant:
            stages += [(objective.criterion, strength, near) for strength, near in _NARROW]
        x = start
        for criterion, strength, near in stages:
            stage = replace(objective, criterion=criterion)
            found = self._minimise(stage, x, strength, near)
            # Beside what is known, a barrier may outweigh all that motion tells and lead to rest,
            # where no weaker one leads away from.
            if stage.criterion_value(found) <= stage.criterion_value(x):
                x = found
        return x

    def _minimise(
        self, objective: DesignObjective, start: np.ndarray, strength: float, near: float
    ) -> np.ndarray:
        scale = self._scale(objective.functions)

        def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
            coefficients = x.reshape(start.shape) * scale
            try:
                value, slope = objective.value_and_gradient(coefficients, strength, near)
            except UnreachableError:  # the step is made shorter
                return _BEYOND, np.zeros_like(x)
            return value, (slope * scale).ravel()

        # How the search ends does not matter: whatever it finds is judged and verified.
        options = {'maxiter': self.settings.iterations, 'maxcor': 30}
        x = (start / scale).ravel()
        found = minimize(cost, x, jac=True, method='L-BFGS-B', options=options)
        return found.x.reshape(start.shape) * scale

    def _scale(self, functions: np.ndarray) -> np.ndarray:
        """Coefficients at which one function alone meets its first limit, ``(k, n)``."""
        limits = self.limits
        bounds = np.array([limits.reach, limits.velocity, limits.acceleration, limits.jerk])
        size = np.abs(functions).max(axis=1)
        with np.errstate(divide='ignore'):
            return (bounds[:, None] / size[:, :, None]).min(axis=0)

    def _feasible(self, coefficients: np.ndarray, rest: np.ndarray) -> np.ndarray | None:
        """The motion, drawn towards rest until it passes the dense grid; None if it cannot."""
        samples = int(np.ceil(self.basis.duration * self.settings.verification_rate)) + 1
        dense = self.objective(samples).parts()
        motion = coefficients - rest

        def allowed(share: float) -> bool:
            return all(part.allows(rest + share * motion) for part in dense)

        def checked(share: float) -> bool:
            return allowed(share) and all(
                (check.slack(part.motion(rest + share * motion)[0]) >= 0.0).all()
                for part in dense for check in self.checks
            )

        share = largest_share(allowed, most=1.0)
        if share > 0.0 and self.checks:
            share = largest_share(checked, most=share)
        return rest + share * motion if share > 0.0 else None

    def _blocking(self, coefficients: np.ndarray) -> str:
        """The constraint with the least slack, in words."""
        objective = self.objective(self._grid_size())
        state = objective.motion(coefficients)[0]
        checks = (*objective.constraints, *self.checks)
        slack = np.hstack([check.slack(state) for check in checks]).min(axis=0)
        return [label for check in checks for label in check.labels()][int(np.argmin(slack))]

    def _excitation(self, coefficients: np.ndarray, cost: float) -> Excitation:
        return Excitation(
            self.limits.joint_names, self.basis, coefficients,
            design={'cost': cost, **asdict(self.settings)},
        )
