"""Linear inequalities on the prior's steps: bounds of parameters, masses, and bodies' extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.estimation.regression.consistent.body_extents import body_extents, bound_of
from sysid_ros.estimation.regression.consistent.plausibility import (
    Plausibility,
    SteppedParameters,
)
from sysid_ros.robot.inertia import INERTIAL_FIELDS, central_inertia, inertial_parameters
from sysid_ros.robot.load_carriers import chain_to, load_carriers

# Rows that are shorter than this part of what they bound hold nothing that is free.
_NO_ROW = 1e-9
# How far a tool reaches beyond what it hangs on, in parts of the length of the arm.
_REACH = 0.3
# Torques feel a mass that makes more than this part of them.
_FELT = 0.1


@dataclass
class LinearBounds:
    """Inequalities ``rows @ z <= limits``, each with what it says, and notes on how they came."""

    rows: list[np.ndarray] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: np.ndarray, limit: float, label: str) -> None:
        """One more inequality."""
        self.rows.append(row)
        self.limits.append(limit)
        self.labels.append(label)

    def scaled(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows ``(m, count)`` scaled to a slope of one, and limits ``(m,)``."""
        matrix = np.array(self.rows).reshape(-1, count)
        size = np.linalg.norm(matrix, axis=1)
        return matrix / size[:, None], np.array(self.limits) / size


def linear_bounds(problem: SteppedParameters, plausibility: Plausibility) -> LinearBounds:
    """Linear inequalities on a problem's parameters, besides consistency.

    Args:
        problem: The problem.
        plausibility: Margins and ranges.
    """
    bounds = LinearBounds()
    masses = _described_masses(problem)
    tools = _possible_tools(problem, plausibility)
    _add_ranges(bounds, problem, plausibility, masses, tools)
    _add_extents(bounds, problem, plausibility, masses, tools)
    _add_total(bounds, problem, plausibility, masses)
    return bounds


def _possible_tools(
    problem: SteppedParameters, plausibility: Plausibility
) -> dict[str, tuple[float, float]]:
    """Mass in [kg] and reach in [m] of tools that bodies at ends may carry undescribed."""
    robot, parameters = problem.model.robot, problem.parameters
    if robot.loops is not None or not plausibility.tool_share > 0.0:
        return {}
    tools = {}
    for body in load_carriers(robot):
        names, length = chain_to(robot, body)
        mass = sum(parameters.prior[parameters.index(f'{name}.mass')] for name in names)
        tools[body] = plausibility.tool_share * max(float(mass), 0.0), _REACH * length
    return tools


def _add_ranges(
    bounds: LinearBounds, problem: SteppedParameters, plausibility: Plausibility,
    masses: list[int], tools: Mapping[str, tuple[float, float]],
) -> None:
    """Bounds of single parameters, with those of masses by the prior."""
    parameters, scale, reference = problem.parameters, problem.scale, problem.reference
    lower, upper = parameters.lower.copy(), parameters.upper.copy()
    lower[masses] = np.maximum(lower[masses], parameters.prior[masses] / plausibility.mass_factor)
    most = parameters.prior * plausibility.mass_factor
    for body, (mass, _) in tools.items():
        own = parameters.index(f'{body}.mass')
        most[own] = max(most[own], parameters.prior[own] + mass)
    upper[masses] = np.minimum(upper[masses], most[masses])
    for k in np.flatnonzero(problem.free & (np.isfinite(lower) | np.isfinite(upper))):
        name = parameters.names[k]
        if np.isfinite(upper[k]):
            bounds.add(scale[k], upper[k] - reference[k], f'{name} <= {upper[k]:.6g}')
        if np.isfinite(lower[k]):
            bounds.add(-scale[k], reference[k] - lower[k], f'{name} >= {lower[k]:.6g}')


def _add_extents(
    bounds: LinearBounds, problem: SteppedParameters, plausibility: Plausibility,
    masses: list[int], tools: Mapping[str, tuple[float, float]],
) -> None:
    """The mass of each body within an ellipsoid; of one that nothing is known of, anywhere."""
    if plausibility.shape_margin is None:
        return
    parameters, extents = problem.parameters, body_extents(problem.model.robot)
    outside = []
    for body in parameters.bodies:
        block = parameters.body_slice(body)
        phi, extent = problem.reference[block], extents.get(body)
        drawn = extent is not None and extent.ellipsoid is not None
        if phi[0] <= 0.0 or (block.start not in masses and not drawn):
            continue
        bound = bound_of(
            body, phi, extent, plausibility.shape_margin, plausibility.size_factor,
            tools[body][1] if body in tools else 0.0)
        along = bound.ellipsoid.realisable
        row, left = along @ problem.scale[block], float(along @ phi)
        if np.linalg.norm(row) > _NO_ROW * abs(left):
            bounds.add(-row, left, bound.label)
            outside += [body] if bound.outside and block.start in masses else []
    if outside:
        bounds.notes.append(
            f'The shapes of {", ".join(outside)} do not hold the mass that the description gives '
            'them. They are bounded by the size of the prior in place of their shapes; check '
            'their inertias, and the scale of their meshes.')


def _add_total(
    bounds: LinearBounds, problem: SteppedParameters, plausibility: Plausibility,
    masses: list[int],
) -> None:
    """The moving mass that torques feel, and all of it where it was weighed.

    A mass counts if it makes more than :data:`_FELT` of the torques at random motion where the
    prior has it, at its centre of mass. The shoulder of an arm on a vertical axis makes next to
    none: it could weigh anything, and would fill up the sum while all others are far off,
    whichever way. The masses that count may still trade with centres of mass, as far as bodies'
    extents let them: torques alone tell no sum of masses, and bounds on what they do tell,
    combinations of first moments, would forbid bodies whose masses are right.
    """
    parameters = problem.parameters
    if len(masses) < len(parameters.bodies):
        return
    if plausibility.weighed_mass is not None:
        _add_sum(bounds, problem, masses, plausibility.weighed_mass, 'moving mass')
    felt = [k for k in masses if np.linalg.norm(_torque_of_mass(problem, k)) > _FELT]
    _add_sum(bounds, problem, felt, plausibility.total_mass, 'moving mass that torques feel')


def _torque_of_mass(problem: SteppedParameters, k: int) -> np.ndarray:
    """What a body's mass at its centre of mass adds to :attr:`BaseParameters.factor`, ``(r,)``."""
    body = slice(k, k + len(INERTIAL_FIELDS))
    mass, com, _ = central_inertia(problem.parameters.prior[body])
    return problem.base.factor @ (
        problem.base.matrix[:, body] @ inertial_parameters(mass, com, np.zeros((3, 3))))


def _add_sum(
    bounds: LinearBounds, problem: SteppedParameters, masses: list[int], part: float, what: str
) -> None:
    """The sum of some masses stays within a part of its prior's."""
    if not problem.free[masses].any():
        return
    row, now = problem.scale[masses].sum(axis=0), problem.reference[masses].sum()
    low, high = ((1.0 + sign * part) * problem.parameters.prior[masses].sum() for sign in (-1, 1))
    bounds.add(row, high - now, f'{what} <= {high:.6g} kg')
    bounds.add(-row, now - low, f'{what} >= {low:.6g} kg')


def _described_masses(problem: SteppedParameters) -> list[int]:
    """Indices of the masses whose prior the robot description really gave."""
    robot = problem.model.robot
    described = dict(zip(robot.body_names, robot.inertial_prior[:, 0] > 0.0, strict=True))
    return [
        problem.parameters.index(f'{body}.mass')
        for body in problem.parameters.bodies if described.get(body, False)
    ]
