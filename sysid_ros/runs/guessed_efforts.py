"""Order, sign, unit and scale of recorded efforts, by the torques of the description."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, listed
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.evaluation.disturbance_choice import undisturbed_part
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.recording.checks.column_order import OtherOrder, other_order
from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.checks.gravity_direction import gravity_direction
from sysid_ros.recording.checks.turns import counted_turns
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.guess.efforts import EffortGuess, effort_guess
from sysid_ros.recording.guess.evidence import Finding, Question
from sysid_ros.recording.guess.options import one_or_each
from sysid_ros.runs.settings_guess import SettingsGuess
from sysid_ros.settings import parse_settings

# How recordings are filtered while efforts are compared with the description, in [Hz].
_CUTOFF = 8.0
# Part of an effort that the description has to explain before its size is compared.
_EXPLAINED = 0.8
# A joint that moves less than this, in [rad] or [m], stands still.
_MOVES = 0.01


def describe_efforts(guess: SettingsGuess, *, current: bool, named: str) -> None:
    """Complete settings by sign, unit and scale of the efforts.

    Args:
        guess: The settings, with all else described.
        current: Whether the names of the columns say that they are currents, or of the motors.
        named: Unit in these names, or empty.

    Raises:
        OpenQuestionsError: The recording leaves open what no default may decide.
        RecordingError: No torque was recorded.
    """
    section, told = guess.section, guess.told
    undriven = set(section.get('unpowered', ()))
    free = undriven == set(section['joints'])
    if section['format'] != 'rosbag' and 'effort' not in section and not free:
        guess.note(Question(
            'effort', 'Which columns are the torques of the joints?',
            'no column is called torque, effort, tau or current, and none command, target or '
            'action (--command names what drives were told instead; --unpowered all says that '
            'nothing drives the robot); if another file has them, add '
            'recording: {effort: {file: …}} by hand', 'NAME_1,NAME_2,… or FIRST-LAST'))
    guess.require_answers()
    unit = told.get('effort-unit', named)
    if 'effort-unit' in told:
        section.setdefault('effort', {})['unit'] = unit
        guess.parsed()
        del section['effort']['unit']
    if not free:
        _leave_out_idle_joints(guess)
    lock_others(guess)
    setup, dataset = _aligned(guess)
    if free:
        guess.note(Finding('unpowered', 'all joints', 'as was said'))
        return
    if not (dataset.tau[dataset.mask] != 0.0).any():
        raise RecordingError(
            'no torque was recorded', where=str(guess.recording),
            found='efforts that are empty or zero', fix='Record efforts, too; joints that '
            'nothing drives are named by recording: {unpowered: […]}')
    dataset = _undisturbed(guess, setup, dataset)
    if _says_mounting(guess, setup, dataset):
        setup, dataset = _aligned(guess)
        dataset = _undisturbed(guess, setup, dataset)
    _check_turns(guess, setup, dataset)
    guess.require_answers()
    _check_order(guess, setup, dataset)
    guess.require_answers()
    found = effort_guess(
        [one for one in effort_findings(dataset, setup.model, unpowered=undriven)
         if one.joint not in undriven], section['joints'], current=current, named=unit,
        said='effort-unit' in told, told=told.get('effort-scale', ''),
        size=_size(dataset, setup))
    guess.note(*found.findings, *found.questions)
    guess.require_answers()
    _add_effort(section, found)
    _aligned(guess)


def _leave_out_idle_joints(guess: SettingsGuess) -> None:
    """Leave out joints that stood still without an effort, as grippers do, where others had one."""
    recording = guess.loaded()
    joints = guess.section['joints']
    idle = []
    for joint in joints:
        q, tau = (
            None if channel is None else channel.column(joint)
            for channel in (recording.channel_of('position', joint),
                            recording.channel_of('effort', joint)))
        driven = tau is not None and bool((np.nan_to_num(tau) != 0.0).any())
        if not driven and (q is None or float(np.ptp(q[np.isfinite(q)])) < _MOVES):
            idle.append(joint)
    if not idle or len(idle) == len(joints) or 'joints' in guess.told:
        return
    kept = [k for k, joint in enumerate(joints) if joint not in idle]
    guess.section['joints'] = [joints[k] for k in kept]
    if 'unpowered' in guess.section:
        guess.section['unpowered'] = [
            joint for joint in guess.section['unpowered'] if joint not in idle]
    for quantity in ('position', 'velocity', 'effort'):
        own = guess.section.get(quantity, {})
        if 'array' in own:
            own.setdefault('columns', list(range(len(joints))))
        for key, value in own.items():
            if isinstance(value, dict):
                own[key] = {joint: value[joint] for joint in value if joint not in idle}
            elif isinstance(value, list):
                left = [value[k] for k in kept]
                own[key] = left if key == 'columns' else one_or_each(left)
    guess.note(Finding('joints', f'{listed(idle)} left out', 'no motion and no effort'))


def lock_others(guess: SettingsGuess) -> None:
    """Hold joints that were not recorded.

    Args:
        guess: The settings, whose recorded joints are known.
    """
    rest = [joint for joint in guess.model.joint_names if joint not in guess.section['joints']]
    if rest:
        guess.robot['locked_joints'] = 'rest'
        guess.note(Finding('locked', 'held fixed', f'{listed(rest)} not recorded, or idle'))


def _aligned(guess: SettingsGuess) -> tuple[FitSetup, Dataset]:
    """The recording as a fit reads it, filtered for a look at its efforts."""
    processing = {'position_filter': {'cutoff': _CUTOFF}, 'effort_check': 'warn'}
    sections = {'robot': guess.robot, 'recording': guess.section, 'processing': processing}
    settings = parse_settings(IdentificationSettings, sections, 'settings')
    setup = FitSetup.of(Identification(settings, guess.folder))
    return setup, setup.align(guess.loaded())


def _undisturbed(guess: SettingsGuess, setup: FitSetup, dataset: Dataset) -> Dataset:
    """The recording without what touched the robot, which says nothing of units and signs."""
    measured = Measurement(setup, guess.loaded(), dataset, None)
    rest, found = undisturbed_part(Measurements((measured,)))
    if found is None:
        return dataset
    said = Finding('effort', f'not looked at from {found.spans}', 'something touches the robot')
    if said not in guess.findings:
        guess.note(said)
    return rest.parts[0].dataset


def _says_mounting(guess: SettingsGuess, setup: FitSetup, dataset: Dataset) -> bool:
    """Write down where gravity pulls, if that is not where the description has it."""
    found = None if 'gravity' in guess.robot else gravity_direction(dataset, setup.model)
    if found is None or not found.is_another:
        return False
    guess.robot['gravity'] = found.setting
    guess.note(Finding(
        'gravity', f'{found.setting} m/s² in the frame of the base',
        f'the efforts say so, {np.degrees(found.angle):.0f}° from where the description has it: '
        'look how the robot is mounted, and put in what you measure'))
    return True


def _check_turns(guess: SettingsGuess, setup: FitSetup, dataset: Dataset) -> None:
    """Ask where angles look like turns."""
    described = guess.section.get('position', {})
    if {'position-unit', 'position-scale'} & set(guess.told) or 'unit' in described:
        return
    found = counted_turns(dataset, setup.model)
    if found is not None:
        guess.note(Question(
            'position-unit', 'Do the positions count turns?', found.sentence, 'rev'))


def _check_order(guess: SettingsGuess, setup: FitSetup, dataset: Dataset) -> None:
    """Ask where efforts or positions look like those of other joints."""
    other = other_order(dataset, setup.model)
    if other is None:
        return
    quantities = other.quantities.split(' and ')
    if guess.section['format'] == 'rosbag':
        quantities = ['joints']
    if set(quantities) & set(guess.told):
        guess.note(Finding('effort', 'in the order that was told', f'but {other.sentence}'))
        return
    for quantity in quantities:
        guess.note(Question(
            quantity, f'Are the columns of {other.quantities} those of other joints?',
            other.sentence, _reordered(guess, quantity, other)))


def _size(dataset: Dataset, setup: FitSetup) -> float:
    """How many times as large as those of the description efforts are, by and large.

    The slope of each effort on the torque of the bodies described, friction and offset of the joint
    free; the median of the joints that this explains, and 1 where it explains none.
    """
    robot = setup.model.robot
    torque = recursive_newton_euler(
        robot, robot.reference_inertials.reshape(-1), dataset.q, dataset.v, dataset.a)
    slopes = []
    for joint in range(torque.shape[1]):
        rows = dataset.mask[:, joint]
        v, tau = dataset.v[rows, joint], dataset.tau[rows, joint]
        known = np.column_stack([torque[rows, joint], v, np.sign(v), np.ones_like(v)])
        size = float(np.sum((tau - tau.mean()) ** 2)) if len(tau) else 0.0
        if size > 0.0:
            found, *_ = np.linalg.lstsq(known, tau, rcond=None)
            left = float(np.sum((tau - known @ found) ** 2))
            if left < (1.0 - _EXPLAINED) * size:
                slopes.append(abs(float(found[0])))
    return float(np.median(slopes)) if slopes else 1.0


def _reordered(guess: SettingsGuess, quantity: str, other: OtherOrder) -> str:
    """An answer: the order that the description speaks for, as it is written by the option."""
    joints = guess.section['joints']
    own = dict(zip(other.joints, other.columns, strict=True))
    source = [joints.index(own.get(joint, joint)) for joint in joints]
    if quantity == 'joints':
        return ','.join(joints[source.index(k)] for k in range(len(joints)))
    columns = guess.section[quantity].get('columns')
    if columns is None:
        array = guess.section[quantity]['array']
        columns = [f'{array}[{k}]' for k in range(len(joints))]
    return ','.join(str(columns[k]) for k in source)


def _add_effort(section: dict[str, Any], guess: EffortGuess) -> None:
    said: dict[str, Any] = {}
    if guess.unit:
        said['unit'] = guess.unit
    if any(sign < 0 for sign in guess.signs):
        said['sign'] = one_or_each(guess.signs)
    if guess.scales:
        said['scale'] = one_or_each(guess.scales)
    if said:
        section['effort'] = {**section.get('effort', {}), **said}
