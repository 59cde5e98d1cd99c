"""What the demo of a robot without torque sensors came to: motion in MuJoCo beside the measured.

A motion that nothing was fitted to is simulated under its recorded commands by three descriptions
with actuators, as they are handed over: with the values before the fit, the identified ones, and
the true ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.demo.operator_results import OperatorResults, ResultsPart
from sysid_ros.demo.outcome import Outcome
from sysid_ros.demo.replayed_commands import replayed_motion
from sysid_ros.demo.true_robot import Deviations, Truth
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.actuator_commands import held_commands
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.mechanics.actuators.actuators import DELAY, actuated
from sysid_ros.release.description_export import export_description
from sysid_ros.report.joint_strips import (
    CANDIDATE,
    MEASURED,
    PRIOR,
    JointStrips,
    PlottedLine,
    Strip,
)
from sysid_ros.report.sections.demonstration import DemonstratedCheck, DemonstratedError
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.sources import load_source
from sysid_ros.settings import load_yaml

#: What the demo shows: error of the identified motion in parts of the description's, error of
#: armatures in parts of the true ones, and that of the delay in [s]. Commands without stamps count
#: from their reception, less what joint states take, which differ by milliseconds on a desktop.
MOTION_BAR, ARMATURE_BAR, DELAY_BAR = 0.2, 0.15, 5e-3

_COURSE = (
    'A simulated robot with position servos and without torque sensors, whose armature and '
    'friction differ from its description, was excited by a stream of positions, and identified '
    'from these and its encoders. Another motion was then simulated by MuJoCo under its recorded '
    'commands: by the description, by what was handed over, and by the true parameters. The '
    "truth's bar is what encoders and times of reception leave of any model; what was identified "
    'counts late messages in its delay.')
_KEPT = {'identified.xml': 'The robot, identified, with its actuators'}


class _Commit(ResultsPart):
    revision: str


class CommandedResults(OperatorResults):
    """What the operator of a demonstration without torques has written.

    Attributes:
        commit: The revision that the commit led to.
    """

    commit: _Commit


@dataclass(frozen=True, eq=False)
class ReplayedMotion:
    """A recorded motion beside those that MuJoCo simulates under its commands.

    Attributes:
        t: Times in [s], shape ``(T,)``.
        measured: Positions in [rad] or [m], shape ``(T, n)``.
        simulated: The same by ``prior``, ``identified`` and ``truth``.
    """

    t: np.ndarray
    measured: np.ndarray
    simulated: Mapping[str, np.ndarray]

    def error(self, name: str) -> float:
        """Root mean square error of the positions in [rad] or [m]."""
        return float(np.sqrt(np.mean((self.simulated[name] - self.measured) ** 2)))

    def strips(self, joint_names: tuple[str, ...]) -> JointStrips:
        """The motions as a figure.

        Args:
            joint_names: The joints.
        """
        t = self.t - self.t[0]
        lines = (
            (self.simulated['prior'], PRIOR, 0.9, 'description'),
            (self.measured, MEASURED, 1.6, 'measured'),
            (self.simulated['identified'], CANDIDATE, 1.0, 'identified'))
        return JointStrips(
            'motion that was not fitted, simulated by MuJoCo under the recorded commands',
            'time [s]', tuple(
                Strip(name, 'rad', tuple(
                    PlottedLine(t, q[:, k], colour, width, label)
                    for q, colour, width, label in lines))
                for k, name in enumerate(joint_names)))


def replay(folder: Path, estimate: str, motion: str) -> tuple[ReplayedMotion, FitSetup, Truth]:
    """Simulate a recording by the description, an estimate and the truth.

    Args:
        folder: Folder of the demo.
        estimate: Id of the estimate.
        motion: Id of the recording.

    Returns:
        The motions, what was fitted, and the truth.
    """
    run = RunFolder.open(folder / 'data' / 'estimates' / estimate)
    setup = run.setup()
    robot, drives = setup.model.robot, actuated(setup.model)
    if drives is None:
        raise ConfigurationError('the robot has no actuators', where=str(run.path))
    recording = load_source(folder / 'data' / 'recordings' / motion).recording()
    commands, channel = held_commands(drives, recording), recording.channel('position')
    measured = np.column_stack([channel.column(name) for name in robot.joint_names])
    truth = Deviations.load(folder / 'truth.yaml').of(robot)

    def described(parameters: ParameterSet) -> bytes:
        return export_description(robot, parameters, actuators=drives.actuators).xml

    own, none = run.estimate().parameters[DELAY], np.zeros_like(truth.drag)
    models = {
        'prior': (described(setup.model.parameters), 0.0, none),
        'identified': ((run.path / 'identified.xml').read_bytes(), own, none),
        'truth': (described(_true_parameters(setup, truth)), true_delay(folder), truth.drag)}
    simulated = {
        name: replayed_motion(
            xml, robot.joint_names, commands, channel.t, measured[0], delay=delay, drag=drag)
        for name, (xml, delay, drag) in models.items()}
    return ReplayedMotion(channel.t, measured, simulated), setup, truth


def true_delay(folder: Path) -> float:
    """Delay of the simulated robot's drives in [s].

    Args:
        folder: Folder of the demo.
    """
    nodes = load_yaml(folder / 'nodes.yaml')
    return float(nodes['/**/simulated_robot']['ros__parameters']['command_delay'])


def _true_parameters(setup: FitSetup, truth: Truth) -> ParameterSet:
    """The true values of what the model has; drag is none of it."""
    robot, parameters = setup.model.robot, setup.model.parameters
    values = {
        f'{joint}.{field}': float(column[k])
        for field, column in (
            ('viscous_friction', truth.viscous), ('coulomb_friction', truth.coulomb),
            ('armature', truth.armature))
        for k, joint in enumerate(robot.joint_names)}
    for body, phi in zip(robot.body_names, truth.inertials, strict=True):
        values |= dict(zip((f'{body}.{field}' for field in INERTIAL_FIELDS), phi, strict=True))
    return parameters.with_values(values)


def report(folder: Path) -> tuple[str, bool]:
    """Judge a demo that has come to its end, and write ``report/``.

    Args:
        folder: Folder of the demo.

    Returns:
        The summary for people, and whether everything is as it should be.

    Raises:
        ConfigurationError: The operator's results cannot be read.
    """
    results = CommandedResults.read(folder / 'results.json')
    motion, setup, truth = replay(folder, results.estimate, 'held_out')
    estimate = RunFolder.open(folder / 'data' / 'estimates' / results.estimate).estimate()
    robot = setup.model.robot
    errors = {name: 1e3 * motion.error(name) for name in ('prior', 'identified', 'truth')}
    found = np.array([estimate.parameters[f'{joint}.armature'] for joint in robot.joint_names])
    figures = {
        'motion_error': errors, 'motion_ratio': errors['identified'] / errors['prior'],
        'armature_error': float(np.abs(found / truth.armature - 1.0).max()),
        'delay': estimate.parameters[DELAY], 'true_delay': true_delay(folder)}
    outcome = Outcome(
        robot.name, results.estimate, [DemonstratedError(
            name='error of an unseen motion, simulated by MuJoCo', unit='mrad', **errors,
            ratio=errors['identified'] / errors['truth'], at_most=None)],
        _checks(results, figures), figures, _KEPT, {
            'motion_held_out.png': (
                'A motion that was not fitted, measured and simulated',
                motion.strips(robot.joint_names))}, _COURSE)
    return outcome.write(folder), outcome.met


def _checks(results: CommandedResults, figures: dict[str, Any]) -> list[DemonstratedCheck]:
    """What should be."""
    late = figures['delay'] - figures['true_delay']
    return [DemonstratedCheck(sentence=sentence, met=met) for sentence, met in (
        (f'the identified model moves {1.0 / figures["motion_ratio"]:.0f} times as near to the '
         f'measured motion as the description, of at least {1.0 / MOTION_BAR:.0f} times',
         figures['motion_ratio'] <= MOTION_BAR),
        (f'armatures are within {100.0 * figures["armature_error"]:.1f} % of the true ones, of at '
         f'most {100.0 * ARMATURE_BAR:.0f} %', figures['armature_error'] <= ARMATURE_BAR),
        (f'the delay of the commands is within {1e3 * abs(late):.1f} ms of the true '
         f'{1e3 * figures["true_delay"]:.0f} ms', abs(late) <= DELAY_BAR),
        ('the verdict allowed the commit', results.committable),
        (f'revision {results.commit.revision} was committed, and rolled back to '
         f'{results.rollback.revision}, which holds what was before', results.restores))]
