"""Held-out torque prediction: the candidate beside the prior, on data no fit has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.estimate import Estimate, ResidualStatistics
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.noise import residual_statistics


@dataclass(frozen=True, eq=False)
class TorquePrediction:
    """Torque errors of a candidate and of the prior on the same rows.

    Attributes:
        joint_names: Joints, one per column of the statistics.
        candidate: Errors of the estimate.
        prior: Errors of the parameters before identification.
        held_out: False when the rows are the ones that were fitted.
        source: Where the rows came from.
        same_recording: Whether they are of a recording that was fitted.
    """

    joint_names: tuple[str, ...]
    candidate: ResidualStatistics
    prior: ResidualStatistics
    held_out: bool
    source: str
    same_recording: bool = False


def predict(
    estimate: Estimate, problem: RegressionProblem, *, held_out: bool = True
) -> TorquePrediction:
    """Predict the torques of a recording with an estimate and with its prior.

    Args:
        estimate: The estimate.
        problem: Rows to predict, with the same parameters in the same order.
        held_out: Whether the rows were kept from the fit.

    Returns:
        Errors of both.

    Raises:
        ParameterError: The parameters of the estimate are not the problem's.
    """
    values = np.array([estimate.parameters[name] for name in problem.parameters.names])
    return TorquePrediction(
        joint_names=problem.model.robot.joint_names,
        candidate=residual_statistics(problem, values),
        prior=residual_statistics(problem, problem.parameters.prior),
        held_out=held_out,
        source=str(problem.provenance.get('source', '')),
        same_recording=estimate.has_seen(str(problem.provenance.get('sha256', ''))),
    )
