"""The velocity over which dry friction smooths its sign, of a problem and of others like it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.mechanics.joint_terms.term import LawTerm
from sysid_ros.mechanics.torque_model import TorqueModel

# Velocity in [rad/s] or [m/s] over which friction is smooth enough to be searched with.
_SMOOTH = 0.02


def largest_smoothing(model: TorqueModel) -> float:
    """Largest velocity over which dry friction smooths its sign, in [rad/s] or [m/s]; 0 for none.

    Args:
        model: The torque model.
    """
    laws = [
        part for term in model.terms if isinstance(term, LawTerm)
        for part in term.law_columns(model.robot.opened)]
    return max(
        (part.shape[part.law.smoothing] for part in laws if part.law.smoothing is not None),
        default=0.0)


def with_smoother_friction(
    problem: TrajectoryProblem, factor: float
) -> TrajectoryProblem | None:
    """The problem with more smoothing of dry friction; None where none of it is given a number.

    Args:
        problem: The problem.
        factor: By which it is more.
    """
    terms: list[Any] = list(problem.model.terms)
    smooth = [k for k, term in enumerate(terms) if getattr(term, 'smoothing', None)]
    for k in smooth:
        terms[k] = replace(terms[k], smoothing=factor * terms[k].smoothing)
    return replace(problem, model=replace(problem.model, terms=terms)) if smooth else None


def smooth_to_begin_with(problem: TrajectoryProblem) -> TrajectoryProblem | None:
    """The problem with friction smooth enough to begin a search with.

    Args:
        problem: The problem.

    Returns:
        None where its own friction is as smooth as that.
    """
    width = largest_smoothing(problem.model)
    if not 0.0 < width < _SMOOTH:
        return None
    return with_smoother_friction(problem, _SMOOTH / width)
