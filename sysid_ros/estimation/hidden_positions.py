"""Positions of joints that nothing measures, as the first guess makes them move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.trajectory.from_recording import problem_from_recordings
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.recording.checks.unpowered import with_unpowered
from sysid_ros.recording.recording import Channel, Recording


def hidden_joints(setup: FitSetup, recording: Recording) -> tuple[str, ...]:
    """Joints of the robot that settings leave out of ``observed`` and that were not recorded.

    Args:
        setup: The settings and the torque model.
        recording: What was recorded.
    """
    observed = setup.settings.fit.trajectory.observed
    if observed is None:
        return ()
    return tuple(
        name for name in setup.model.robot.limb_joints
        if name not in observed and recording.channel_of('position', name) is None)


def with_hidden_positions(recording: Recording, setup: FitSetup) -> Recording:
    """A recording with positions of hidden joints, by the parameters before identification.

    They stand for positions, which were not measured, wherever motion is shown; states are sought
    with the parameters without them.

    Args:
        recording: What was recorded; it stays as it is where no joint is hidden.
        setup: Its settings and the torque model.

    Raises:
        EstimationError: What was recorded does not tell their motion.
        RecordingError: The recording does not fit.
    """
    hidden = hidden_joints(setup, recording)
    if not hidden:
        return recording
    setup = _smooth(setup)
    problem = problem_from_recordings(
        setup.model, [recording], setup.settings.fit.trajectory.nodes([recording]).model_copy(
            update={'unpowered': setup.identification.described.unpowered}),
        processing=setup.settings.processing.model_copy(update={'trim': (0.0, 0.0)}),
        parameters=setup.parameters())
    robot = setup.model.robot
    units = [
        'm' if robot.joint_types[robot.joint_index(name)] == 'prismatic' else 'rad'
        for name in hidden]
    t = np.concatenate([segment.t for segment in problem.segments])
    q = np.concatenate([positions for positions, _ in initial_states(problem)])
    channels = tuple(
        Channel('position', (name,), unit, t, q[:, [robot.joint_index(name)]])
        for name, unit in zip(hidden, units, strict=True))
    passive = [name for name in hidden if name in setup.identification.described.unpowered]
    complete = replace(recording, channels=(*recording.channels, *channels))
    return replace(
        with_unpowered(complete, passive), warnings=(*recording.warnings, (
            f'{", ".join(hidden)} moves as nothing measured: its positions are what the dynamics '
            'make of the others, and no figure compares them with a measurement')))


def _smooth(setup: FitSetup) -> FitSetup:
    """The setup with the sign of dry friction smoothed, as motion is sought by slopes."""
    robot = setup.settings.robot
    if robot is None or robot.terms.smoothed() is robot.terms:
        return setup
    return FitSetup.of(setup.identification.with_terms(robot.terms.smoothed()))
