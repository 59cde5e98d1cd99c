"""Commands of a recording on their way to the actuators of a robot, with what is wrong of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sysid_ros.errors import ConfigurationError, RecordingError, nearest_name
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import ActuatedModel, JointActuator, actuated
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.driven import torques_along
from sysid_ros.mechanics.actuators.envelope import LIMITS, at_limits
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.noise import correlated_squares
from sysid_ros.recording.checks.followed_commands import require_followed, unchanged_commands
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.robot.model import RobotModel

# Positions that lie this near to later commands, in parts of what they are from those at the same
# time, and what counts as motion in [rad] or [m].
_NEARER, _MOVES = 0.9, 1e-2
# Longest lag of a servo that is looked at in [s].
_LAG = 0.3
# Part of the samples at the torque limit from which that is said, and which counts as all of them.
_SATURATED, _ALWAYS = 0.2, 0.98
# What a torque per unit of angle is too small by where it is of degrees, and how well that shows.
_DEGREES, _ABOUT = 180.0 / np.pi, 2.0
# So many times the torque that links take no wrong description explains, told by so many standard
# deviations; and part of that torque beside friction and armature from which it tells anything.
_TOO_LARGE, _CLEARLY, _SHOWN = 5.0, 5.0, 0.05
# Part of it that the torque of the links has to explain.
_ALIKE = 0.5


def held_commands(drives: ActuatedModel, recording: Recording) -> HeldCommand:
    """What the actuators of a robot were told, on the clock of a recording.

    Args:
        drives: The actuators.
        recording: What was recorded.

    Raises:
        RecordingError: The commands of a joint were not recorded, or have a unit that its actuator
            does not take.
    """
    _require_commands(drives, recording)
    names = drives.joint_names
    tracks = {}
    for each in drives.actuators.joints:
        channel = recording.channel_of('command', each.joint)
        assert channel is not None  # required above
        _require_unit(each, channel, recording)
        values = channel.column(each.joint)
        there = np.isfinite(values)
        tracks[each.joint] = channel.t[there], values[there]
    t = np.unique(np.concatenate([stamps for stamps, _ in tracks.values()]))
    # Nothing is known before the last joint was told something for the first time.
    t = t[t >= max(stamps[0] for stamps, _ in tracks.values())]
    values = np.zeros((len(t), len(names)))
    for joint, (stamps, commands) in tracks.items():
        rows = np.searchsorted(stamps, t, side='right') - 1
        values[:, names.index(joint)] = commands[rows]
    return HeldCommand(t, values)


def _require_commands(drives: ActuatedModel, recording: Recording) -> None:
    names = drives.actuators.names
    missing = [name for name in names if recording.channel_of('command', name) is None]
    if not missing:
        return
    there = [name for channel in recording.channels_of('command') for name in channel.names]
    kind = drives.actuators.actuator_of(missing[0])
    assert kind is not None
    unit = _written(kind.kind.units[0])
    raise RecordingError(
        f'the robot has actuators, and no command was recorded for {", ".join(missing)}',
        where=recording.source, found=', '.join(there) or 'no command at all',
        fix='Name the columns of a table, as in recording: {command: '
        f'{{prefix: command_, unit: {unit}}}}}, or the topic of a bag, {{command: {{topic: '
        f'/commands, unit: {unit}}}}}; or take the joints out of robot: {{actuators: …}}')


def _written(unit: str) -> str:
    """A unit as YAML takes it for a word."""
    return "'1'" if unit == '1' else unit


def _require_unit(each: JointActuator, channel: Channel, recording: Recording) -> None:
    if channel.unit in each.kind.units:
        return
    fitting = _written(each.kind.units[0])
    raise RecordingError(
        f'the commands of {each.joint} are not of the kind that its actuator takes',
        where=recording.source, found=f'{channel.unit} (rad where no unit is given)',
        allowed=f'{" or ".join(each.kind.units)}: the {each.kind.command} of an actuator '
        f'{each.kind.name}',
        fix=f'Say recording: {{command: {{unit: {fitting}}}}}, one unit for each joint where they '
        'differ; or mend the kind of the actuator')


def with_actuator_torques(recording: Recording, model: TorqueModel) -> Recording:
    """A recording with the torques that its commands make, by the constants of the settings.

    They stand for efforts, which were not measured, wherever torques are shown.

    Args:
        recording: What was recorded; it stays as it is where the robot has no actuators.
        model: Torque model of the robot.

    Raises:
        ConfigurationError: A joint has neither an actuator nor efforts.
        RecordingError: Commands are missing, or do not fit the actuators or the motion.
    """
    drives = actuated(model)
    if drives is None:
        return recording
    commands = held_commands(drives, recording)
    _require_driven(drives, recording)
    channels = _beside_torques(drives, recording)
    warnings: list[str] = []
    for channel in recording.channels_of('position'):
        if any(name in drives.actuators.names for name in channel.names):
            _require_right_order(drives, channel, commands, recording)
            warnings += _checked_commands(
                drives, channel, commands, model.robot, recording.source)
            torques, velocities = _torques(drives, channel, commands, model.parameters.prior)
            warnings += _saturation(drives, torques, velocities)
            channels.append(torques)
    return replace(
        recording, channels=tuple(channels), warnings=(*recording.warnings, *warnings))


def with_torques_by(recording: Recording, model: TorqueModel, values: np.ndarray) -> Recording:
    """A recording whose actuators make torques by other constants than those of the settings.

    Args:
        recording: What :func:`with_actuator_torques` gives.
        model: Torque model of the robot.
        values: Its parameters, with the constants, shape ``(p,)``.
    """
    drives = actuated(model)
    if drives is None:
        return recording
    commands = held_commands(drives, recording)
    channels = _beside_torques(drives, recording)
    channels += [
        _torques(drives, channel, commands, values)[0]
        for channel in recording.channels_of('position')
        if any(name in drives.actuators.names for name in channel.names)]
    return replace(recording, channels=tuple(channels))


def _require_driven(drives: ActuatedModel, recording: Recording) -> None:
    """Every driven joint has an actuator or a known effort."""
    known = {*drives.actuators.names, *(
        name for channel in recording.channels_of('effort') for name in channel.names)}
    missing = [name for name in drives.joint_names if name not in known]
    if missing:
        near = nearest_name(missing[0], drives.actuators.names) or drives.actuators.names[0]
        each = drives.actuators.actuator_of(near)
        assert each is not None
        raise ConfigurationError(
            f'nothing says what drives {", ".join(missing)}', where='robot.actuators',
            found=f'actuators of {", ".join(drives.actuators.names)}',
            fix=f'Add {missing[0]}: {{kind: {each.kind.name}, …}}; or, where nothing drives it, '
            f'recording: {{unpowered: [{", ".join(missing)}]}}')


def _beside_torques(drives: ActuatedModel, recording: Recording) -> list[Channel]:
    """Channels of a recording without the efforts of joints whose torque commands make."""
    return [
        left for channel in recording.channels
        if (left := _without(channel, drives) if channel.quantity == 'effort' else channel)]


def _without(channel: Channel, drives: ActuatedModel) -> Channel | None:
    """A channel of efforts without the joints whose torque comes from their commands."""
    others = [k for k, name in enumerate(channel.names) if name not in drives.actuators.names]
    if not others:
        return None
    return replace(
        channel, names=tuple(channel.names[k] for k in others), values=channel.values[:, others])


def _torques(
    drives: ActuatedModel, channel: Channel, commands: HeldCommand, values: np.ndarray
) -> tuple[Channel, np.ndarray]:
    """Torques of the actuators of one channel of positions at its stamps, and their velocities."""
    own = [name for name in channel.names if name in drives.actuators.names]
    columns = [drives.joint_names.index(name) for name in own]
    q = np.zeros((len(channel.t), len(drives.joint_names)))
    for name, column in zip(own, columns, strict=True):
        q[:, column] = channel.column(name)
    v = np.asarray(np.gradient(q, channel.t, axis=0))
    torque = torques_along(drives, values, commands, channel.t, q, v)[:, columns]
    unit = {'rad': 'N·m', 'm': 'N'}.get(channel.unit, 'N·m or N')
    return Channel('effort', tuple(own), unit, channel.t, torque), v[:, columns]


def _saturation(
    drives: ActuatedModel, torques: Channel, v: np.ndarray
) -> Iterator[str]:
    """Sentences on joints that are at their torque limits for long, which are not to be found.

    Raises:
        RecordingError: A joint is at its limits all the time.
    """
    for name, column, speed in zip(torques.names, torques.values.T, v.T, strict=True):
        each = drives.actuators.actuator_of(name)
        assert each is not None
        part = float(np.mean(at_limits(column, speed, each.limits)))
        given = {
            limit.name: value for limit, value in zip(LIMITS, each.limits, strict=True)
            if np.isfinite(value)}
        words = ', '.join(f'{limit} {value:g}' for limit, value in given.items())
        if part >= _ALWAYS:
            raise RecordingError(
                f'the actuator of {name} is at its torque limit all the time, so that nothing of '
                'its command shows', where='robot.actuators', found=words,
                fix='Check the unit of the command and of the constants, and the limit')
        if part > _SATURATED and not each.free_limits:
            yield (
                f'the actuator of {name} is at its torque limit ({words}) for '
                f'{100.0 * part:.0f} % of the time, which tells nothing of its constants')


def _require_right_order(
    drives: ActuatedModel, channel: Channel, commands: HeldCommand, recording: Recording
) -> None:
    """Refuse positions that go before their commands: the columns are swapped."""
    swapped, moving = [], 0
    for name in channel.names:
        each = drives.actuators.actuator_of(name)
        if each is None or not each.kind.feedback:
            continue
        q = channel.column(name)
        u = commands.at(channel.t)[:, drives.joint_names.index(name)]
        if np.ptp(q) < _MOVES or np.ptp(u) < _MOVES:
            continue
        moving += 1
        swapped += [name] if _goes_before(channel.t, q, u) else []
    if moving and 2 * len(swapped) > moving:
        raise RecordingError(
            f'the positions of {", ".join(swapped)} go before their commands, which a servo '
            'cannot do', where=recording.source,
            fix='Swap the columns of recording: {position: …} and recording: {command: …}')


def _goes_before(t: np.ndarray, q: np.ndarray, u: np.ndarray) -> bool:
    """Whether positions are nearer to commands that come later than to those before them."""
    period = float(np.median(np.diff(t)))
    most = max(1, min(int(_LAG / period), len(t) // 4))
    # About their means: a servo under load stands off its command.
    q, u = q - q.mean(), u - u.mean()
    errors = {
        lag: np.mean((q[max(lag, 0):len(q) + min(lag, 0)] - u[max(-lag, 0):len(u) - max(lag, 0)])
                     ** 2)
        for lag in range(-most, most + 1)}
    best = min(errors, key=lambda lag: errors[lag])
    # What is nowhere nearer than a constant, as commands of the other sign, goes before nothing.
    nearest = min(errors[0], float(np.var(q[most:-most])))
    return best < 0 and errors[best] < _NEARER**2 * nearest


def _checked_commands(
    drives: ActuatedModel, channel: Channel, commands: HeldCommand, robot: RobotModel, source: str
) -> list[str]:
    """What is said of servos by their commands; those of positions and of velocities apart.

    Raises:
        RecordingError: Commands never change, or are of another unit, sign or joint.
    """
    groups: dict[tuple[bool, str], list[str]] = {}
    for each in drives.actuators.joints:
        if each.joint in channel.names and each.kind.regulates:
            slides = robot.joint_types[robot.joint_index(each.joint)] == 'prismatic'
            groups.setdefault((each.kind.feedback, 'm' if slides else 'rad'), []).append(each.joint)
    warnings: list[str] = []
    for (feedback, length), names in groups.items():
        columns = [drives.joint_names.index(name) for name in names]
        x = np.column_stack([channel.column(name) for name in names])
        if not feedback:
            x = np.asarray(np.gradient(x, channel.t, axis=0))
        unit = length if feedback else f'{length}/s'
        own = HeldCommand(commands.t, commands.values[:, columns])
        require_followed(tuple(names), channel.t, x, own.at, unit, source)
        warnings += unchanged_commands(tuple(names), x, own.at(channel.t), unit)
    return warnings


def gain_warnings(rows: RegressionProblem) -> tuple[str, ...]:
    """What is said of gains and constants whose torques have another size or sign than links take.

    Args:
        rows: Torques that the actuators make by the settings, and what the prior takes.
    """
    drives = actuated(rows.model)
    if drives is None:
        return ()
    taken, small, large, open_loop = rows.regressor @ rows.parameters.prior, [], {}, {}
    for j, name in enumerate(drives.joint_names):
        each, usable = drives.actuators.actuator_of(name), rows.usable[:, j]
        made = rows.torque[usable, j]
        if each is None or not made.any():
            continue
        factor, deviation, alike = _times_the_links(rows, j)
        if not each.kind.regulates:
            # Noise of the motion makes a factor small, and what it explains, too.
            if abs(factor) > _CLEARLY * deviation and alike > _ALIKE and not (
                    1.0 / _TOO_LARGE <= factor <= _TOO_LARGE):
                open_loop[name] = factor
            continue
        if not each.kind.feedback:
            continue
        slope = float(made @ taken[usable, j]) / float(made @ made)
        # Where friction is most of the torque, its size tells less than the part of the links.
        if _DEGREES / _ABOUT < slope < _DEGREES * _ABOUT or (
                factor > _CLEARLY * deviation and 1.0 / _ABOUT < factor * _DEGREES < _ABOUT):
            small.append(name)
        elif factor > max(_TOO_LARGE, _CLEARLY * deviation) and 'kp' not in each.free:
            large[name] = factor
    return (*_too_small(small), *_too_large(large), *_of_another_size(open_loop))


def _too_small(names: list[str]) -> Iterator[str]:
    if names:
        yield (
            f'The gains of {", ".join(names)} make about 57 times less torque than the links take: '
            'gains in N·m/deg have to be given in N·m/rad, 57.3 times as much.')


def _too_large(factors: Mapping[str, float]) -> Iterator[str]:
    if factors:
        shown = ', '.join(f'{name} {factor:.2g}' for name, factor in factors.items())
        yield (
            'The gains make many times the torque that weight and inertia of the links take, '
            f'friction and armature left out ({shown} times): gains in units of a firmware, as the '
            'number in a register, have to be given in N·m/rad. To have them found: robot: '
            f'{{actuators: {{{next(iter(factors))}: {{sought: [kp], …}}}}}}, the number divided by '
            'that factor as a first guess.')


def _of_another_size(factors: Mapping[str, float]) -> Iterator[str]:
    against = [name for name, factor in factors.items() if factor < 0.0]
    if against:
        yield (
            f'The drives of {", ".join(against)} make torques against those that weight and '
            'inertia of the links take: give their commands the sign -1, recording: {command: '
            '{sign: …}}.')
    others = {name: factor for name, factor in factors.items() if factor >= 0.0}
    if others:
        shown = ', '.join(f'{name} {factor:.2g}' for name, factor in others.items())
        yield (
            'Commands and constants of the drives make torques of another size than weight and '
            f'inertia of the links take, friction and armature left out ({shown} times): check the '
            'unit of the commands, whether torque constants are in N·m/A, and that a gear counts '
            'once.')


def _times_the_links(rows: RegressionProblem, j: int) -> tuple[float, float, float]:
    r"""Torque that an actuator makes in parts of that of the links, and how well that is told.

    With the torque :math:`\tau_l` that the described links take at joint j, and columns T of its
    joint terms, :math:`\tau = \alpha\, \tau_l + T \theta` by least squares: friction and
    armature, of which descriptions say little, take no part. Zero where :math:`\tau_l` is hardly
    told from these.

    Returns:
        The factor, its standard deviation, and the part of the torque beside friction and armature
        that it explains.
    """
    usable, bodies = rows.usable[:, j], 10 * len(rows.model.robot.body_names)
    own = rows.regressor[usable, j]
    links = own[:, :bodies] @ rows.parameters.prior[:bodies]
    terms = own[:, bodies:][:, own[:, bodies:].any(axis=0)]
    basis = np.linalg.qr(terms / np.linalg.norm(terms, axis=0))[0]
    loads, made = (x - basis @ (basis.T @ x) for x in (links, rows.torque[usable, j]))
    size, whole = float(loads @ loads), float(made @ made)
    if not (size > _SHOWN**2 * float(links @ links) and whole > 0.0):
        return 0.0, np.inf, 0.0
    factor = float(loads @ made) / size
    left = made - factor * loads
    total, count = correlated_squares([left[:, None]])
    deviation = float(np.sqrt(total / max(count, 1) / size))
    return factor, deviation, 1.0 - float(left @ left) / whole
