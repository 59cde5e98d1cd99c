"""``sysid init`` and ``sysid fit`` on recordings of published robots as drivers write them.

Every recording is one of ``test/support/driver_recordings.py`` in columns, units and order; the
robot is one of the package example-robot-data, moved by Pinocchio's forward dynamics with dry
friction that sticks (``_plants.py``), and its description is some 20 % off. What is counted:

- right, or asked: the settings read what was measured, after answers to nothing but what no
  recording of that kind tells. Wrong in silence is what reads anything else.
- fitted: ``sysid fit`` on the written file, with no edit, ends with a committable verdict, and the
  model predicts fresh motion better than the description.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import _support  # noqa: F401
import numpy as np
from _plants import Plant, published

import sysid_ros as si
from support.driver_recordings import answered, require_right, written
from sysid_ros.cli.main import main as sysid
from sysid_ros.errors import SysidError
from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.run_folder import RunFolder

SECONDS, EVERY, SEED = 20.0, 2, 5
# Currents reach so many amperes.
AMPERES = 4.0
BARS = {'right or asked': 20, 'wrong in silence': 0, 'fitted': 18}
SERVOS = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex')


@dataclass(frozen=True, eq=False)
class PublishedRobot:
    """A published robot under the names of a driver, as ``support.drivers.Driver`` is one.

    Attributes:
        name: Its name in ``_plants.py``.
        prefix: Names of its joints are this and a number; empty for those of its description.
        only: Joints of its description that move; all where there are none.
        fingers: Joints that stand still, and that the driver publishes.
        endless: Whether the description has no limits of every second joint.
    """

    name: str
    prefix: str = ''
    only: tuple[str, ...] = ()
    fingers: tuple[str, ...] = ()
    endless: bool = False

    @cached_property
    def _plant(self) -> Plant:
        path = published(self.name)
        assert path is not None
        tree = ET.parse(path)
        moving = [joint for joint in tree.iter('joint')
                  if joint.get('type') in ('revolute', 'continuous', 'prismatic')]
        still = [joint for joint in moving if joint.get('name') in self.fingers or (
            self.only and joint.get('name') not in self.only)]
        for joint in still:
            joint.set('type', 'fixed')
        if self.prefix:
            driven = [joint for joint in moving if joint not in still]
            for number, joint in enumerate(driven, start=1):
                joint.set('name', f'{self.prefix}{number}')
        with tempfile.NamedTemporaryFile(suffix='.urdf') as file:
            tree.write(file.name)
            return Plant(Path(file.name), SEED)

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that move, from the base on."""
        return self._plant.joints

    @property
    def continuous(self) -> tuple[str, ...]:
        """Joints without limits."""
        return self.joints[::2] if self.endless else ()

    @cached_property
    def constants(self) -> np.ndarray:
        """Torque at each joint for one ampere, in [N·m/A]."""
        return np.array([float(f'{x:.3g}') for x in np.abs(self.measured()[3]).max(0) / AMPERES])

    @cached_property
    def urdf(self) -> str:
        """The description that a user has."""
        root = ET.fromstring(self._plant.prior)
        for joint in root.iter('joint'):
            if joint.get('name') in self.fingers:
                joint.set('type', 'prismatic')
            if joint.get('name') in self.continuous:
                joint.set('type', 'continuous')
        return ET.tostring(root, encoding='unicode')

    @cache  # noqa: B019 (robots live as long as the process)
    def measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Stamps, positions, velocities and torques."""
        data = self._plant.recording(0, SECONDS)
        v = np.gradient(data.q, data.t, axis=0)
        return tuple(part[::EVERY] for part in (data.t, data.q, v, data.tau))

    def gain(self, run: si.Run) -> float:
        """Error of a fit on fresh motion, in parts of the description's."""
        q, v, a, tau, slides = self._plant.fresh(1000)
        parameters = run.estimate.parameters
        model = RunFolder(run.folder).setup().model.at(parameters.values)
        found, prior = (
            np.sqrt(np.mean((model.torque(theta, q, v, a) - tau) ** 2, where=slides))
            for theta in (parameters.values, parameters.prior))
        return float(found / prior)


UR, PANDA = PublishedRobot('UR5'), PublishedRobot('Panda', fingers=(
    'panda_finger_joint1', 'panda_finger_joint2'))
KUKA, XARM = PublishedRobot('Talos arm', 'lbr_A'), PublishedRobot('xArm7')
GEN3, JACO = PublishedRobot('xArm7', 'joint_', endless=True), PublishedRobot('Jaco')
SERVO_ARM = PublishedRobot('SO-101', only=SERVOS)
#: Recordings by the name of what writes them, and the robot that moved.
RECORDINGS = {
    'ur_rtde_table': UR, 'ur_rtde_torques': UR, 'ur_joint_states': UR,
    'franka_joint_states': PANDA, 'franka_bag_with_desired_states': PANDA, 'libfranka_log': PANDA,
    'kuka_fri_log': KUKA, 'kuka_of_the_opposite_sign': KUKA,
    'xarm_joint_states': XARM, 'xarm_table_in_degrees': XARM,
    'kinova_feedback_table': GEN3, 'kinova_with_currents_alone': GEN3,
    'kinova_jaco_joint_states': JACO,
    'dynamixel_counts': SERVO_ARM, 'dynamixel_joint_states_in_milliamperes': SERVO_ARM,
    'lerobot_table_with_efforts': SERVO_ARM,
    'table_with_semicolons_and_decimal_commas': SERVO_ARM, 'labview_table': SERVO_ARM,
    'matlab_matrix': SERVO_ARM, 'columns_of_two_joints_swapped': SERVO_ARM,
}


@dataclass
class Outcome:
    """What became of a recording.

    Attributes:
        name: Of the recording.
        asked: Options that had to be said.
        wrong: What the settings read wrongly; empty where nothing is.
        refused: What ``sysid init`` refused; empty where it wrote settings.
        committable: The verdict.
        gain: Error of the fit on fresh motion in parts of the description's.
        said: Reasons of the verdict.
        seconds: Processor time of ``init`` and ``fit``.
    """

    name: str
    asked: tuple[str, ...] = ()
    wrong: str = ''
    refused: str = ''
    committable: bool = False
    gain: float = np.nan
    said: str = ''
    seconds: float = 0.0

    @property
    def fitted(self) -> bool:
        """Whether the written file was fitted as it was, to a better model."""
        return self.committable and self.gain < 1.0

    def __str__(self) -> str:
        read = self.refused or self.wrong or (
            f'asked {", ".join(self.asked)}' if self.asked else 'right')
        fit = 'committable' if self.committable else self.said
        return f'{self.name:42} {read:40} {self.gain:6.3f} {self.seconds:5.1f} s  {fit}'


def tried(name: str, folder: Path) -> Outcome:
    """Take a recording through ``init`` and ``fit``."""
    own, robot, file, answers = written(name, folder, RECORDINGS[name])
    # Who recorded torques knows that they are; to be asked for it is not wrong.
    answers.setdefault('effort-scale', '1')
    outcome, begin = Outcome(name), time.process_time()
    settings = folder / 'first.yaml'
    try:
        guessed, told = answered(name, robot, file, answers, initial_settings)
    except (AssertionError, SysidError) as error:
        outcome.refused = str(error)
        return outcome
    outcome.asked = tuple(told)
    settings.write_text(guessed.text())
    try:
        require_right(Identification.load(settings), own)
    except AssertionError as error:
        outcome.wrong = f'WRONG: {error}'
    run = folder / 'run'
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = sysid(['fit', str(settings), '--holdout', '0.3', '-o', str(run), '-q'])
    outcome.said, outcome.committable = said.getvalue().strip(), code == 0
    if (run / 'verdict.json').is_file():
        found = si.Run.open(run)
        outcome.gain = own.gain(found)
        outcome.said = ' '.join(found.verdict.reasons)
    outcome.seconds = time.process_time() - begin
    return outcome


def report(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """Figures of the outcomes."""
    counts = {
        'right or asked': sum(not one.wrong and not one.refused for one in outcomes),
        'wrong in silence': sum(bool(one.wrong) for one in outcomes),
        'fitted': sum(one.fitted for one in outcomes)}
    whole = len(outcomes) == len(RECORDINGS)
    figures: list[dict[str, object]] = []
    for name, count in counts.items():
        least = name != 'wrong in silence'
        figures.append({
            'name': f'init, {len(outcomes)} recordings: {name}', 'value': count, 'unit': '',
            'bar': f'{">=" if least else "<="} {BARS[name]}' if whole or not least else None,
            'ok': count >= BARS[name] or not whole if least else count <= BARS[name]})
    wrongly = sum(one.committable and one.gain >= 1.0 for one in outcomes)
    figures.append({
        'name': f'init, {len(outcomes)} recordings: committable, and worse than the description',
        'value': wrongly, 'unit': '', 'bar': '<= 0', 'ok': wrongly == 0})
    return figures


def main() -> None:
    """Tries all recordings, or those that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('recordings', nargs='*', help=f'of {", ".join(RECORDINGS)}')
    names = parser.parse_args().recordings or list(RECORDINGS)
    if any(published(RECORDINGS[name].name) is None for name in names):
        print('init_recordings: the package example-robot-data is not installed; nothing was '
              'tried', file=sys.stderr)
        print('[]')
        return
    warnings.simplefilter('ignore')
    outcomes = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(tried(name, Path(folder)))
        print(outcomes[-1], flush=True)
    print(json.dumps(report(outcomes)))


if __name__ == '__main__':
    main()
