"""Torques that commands make by what was found of the drives, where no torque was measured."""

from __future__ import annotations

from dataclasses import replace

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.torque_model import TorqueModel


def torque_name(model: TorqueModel, joint: str) -> str:
    """What the torques of a joint are called: no sensor measures what a drive makes of commands.

    Args:
        model: The torque model.
        joint: The joint.
    """
    drives = actuated(model)
    by_commands = drives is not None and joint in drives.actuators.names
    return 'made by the commands' if by_commands else 'measured'


def with_commanded_torques(study: Study, estimate: Estimate) -> Study:
    """A study whose rows have the torques that commands make by the estimated constants.

    Rows are built before a fit, with constants, a delay and a filter that are its first guess.

    Args:
        study: The recordings; it stays as it is where torques were measured.
        estimate: What was found; a study stays as it is where nothing was.
    """
    choice = study.choice
    if choice is None or not choice.measured.commanded or not estimate.status.found_values:
        return study
    parameters, end = estimate.parameters, 1.0 - (study.holdout or 0.0)
    held_out = study.held_out
    return replace(
        study, training=choice.measured.driven_by(parameters).problem(0.0, end),
        held_out=None if held_out is None else held_out.driven_by(parameters))
