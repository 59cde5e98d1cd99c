"""The drives of a simulated robot: what its maker would have built in.

Drives take torques, positions or a whole trajectory, whichever comes; they hold, brake and
refuse by themselves. They know their own robot as its maker does and nothing of identification.

Whatever stops them in motion, a silent commander or a request, they do not go on by themselves: a
new stream of commands must begin, after a silence, when the robot is at rest. A stream of positions
or a trajectory must begin where the robot is; a torque has no place to begin, so whoever sends
it has to begin from the measured state.

A torque is right for the moment it was made for, and throws the robot when it is held on to. When
torques stay out the drives therefore brake at once, but go on with the stream if it does so soon.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from sysid_ros.demo.mujoco_plant import Plant
from sysid_ros.errors import ConfigurationError, SysidError

# Bandwidth of the position loop and of the filter that makes a motion of a stream of positions,
# in [rad/s]; joints slower than this in [rad/s] or [m/s] are at rest.
_LOOP, _FILTER = 60.0, 60.0
_REST = 5e-3


class DriveMode(Enum):
    """What the drives do, in words."""

    HOLDING = 'holding the robot where it is'
    TORQUE = 'following a stream of torques'
    POSITION = 'following a stream of positions'
    TRAJECTORY = 'following a trajectory'
    BRIDGING = 'braking until torques come again'
    BRAKING = 'braking every joint'


# Modes that a silent stream ends, and which stream it is.
_STREAM_OF = {
    DriveMode.TORQUE: DriveMode.TORQUE, DriveMode.BRIDGING: DriveMode.TORQUE,
    DriveMode.POSITION: DriveMode.POSITION,
}


@dataclass(frozen=True)
class DriveSettings:
    """Of the drives.

    Attributes:
        effort: Torque limits in [N·m] or [N], shape ``(n,)``.
        deceleration: With which joints brake in [rad/s²] or [m/s²], shape ``(n,)``.
        timeout: Longest silence of a stream in [s]; longer ones end it.
        patience: Silence of a stream of torques in [s] after which the drives brake meanwhile.
        delay: From a command to its effect in [s].
        tolerance: Distance in [rad] or [m] from the robot at which commands may begin.
        gains: Stiffness kp in [N·m/rad] and damping kd in [N·m·s/rad] of position servos, shape
            ``(2, n)``: their torque is kp (u - q) - kd v, with the command or reference u. By
            default drives track positions by the inverse dynamics of the robot.
    """

    effort: np.ndarray
    deceleration: np.ndarray
    timeout: float = 0.1
    patience: float = 0.03
    delay: float = 0.0
    tolerance: float = 0.05
    gains: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ('effort', 'deceleration'):
            values = getattr(self, name)
            if not (np.isfinite(values).all() and (values > 0.0).all()):
                raise ConfigurationError(
                    'every joint needs a limit', where=name, found=values.tolist(),
                    allowed='finite numbers above 0',
                    fix='Give effort and deceleration of every joint')


class Drives:
    """Drives of all joints, one step of the plant at a time.

    Times are those of the simulation, in [s] since its beginning.

    Args:
        plant: The robot.
        settings: Limits.
    """

    def __init__(self, plant: Plant, settings: DriveSettings) -> None:
        self._plant, self._settings = plant, settings
        self.mode, self.reason, self.t = DriveMode.HOLDING, '', 0.0
        self.counts: Counter[str] = Counter()
        zero = np.zeros_like(plant.q)
        self._reference = (plant.q, zero, zero)
        self._torque, self._target = zero, plant.q
        self._pending: deque[tuple[float, DriveMode, np.ndarray]] = deque()
        self._heard: dict[DriveMode, float] = {}
        self._latched = False
        self._path: BPoly | None = None
        self._began = 0.0

    @property
    def at_rest(self) -> bool:
        """Whether the robot stands still, held by its drives."""
        return self.mode is DriveMode.HOLDING and bool((np.abs(self._plant.v) < _REST).all())

    def take_torque(self, torque: ArrayLike) -> None:
        """One message of a stream of torques in [N·m] or [N].

        Raises:
            SysidError: It cannot be followed, and why.
        """
        self._take(DriveMode.TORQUE, self._checked(torque))

    def take_position(self, position: ArrayLike) -> None:
        """One message of a stream of positions in [rad] or [m].

        Raises:
            SysidError: It cannot be followed, and why.
        """
        wanted = self._checked(position)
        if self.mode is not DriveMode.POSITION:
            self._require_near(wanted, self._plant.q)
        self._take(DriveMode.POSITION, wanted)

    def take_trajectory(
        self, times: Sequence[float], points: Sequence[Sequence[ArrayLike]]
    ) -> None:
        """A trajectory, from where the robot is to rest; an empty one brakes.

        Of one that has begun, what is due from now on is followed.

        Args:
            times: From now, in [s], increasing; below zero of what is past.
            points: Of each time, the positions and as many of velocities and accelerations as
                there are, each of n numbers.

        Raises:
            SysidError: It cannot be followed, and why.
        """
        if not len(times):
            self.stop('an empty trajectory')
            return
        rows = [[self._checked(values) for values in point] for point in points]
        self._require_path(times, rows)
        if not self._may_begin(DriveMode.TRAJECTORY):
            raise SysidError(
                'the drives do not take a trajectory now', found=self.mode.value,
                allowed='at rest, after a silence',
                fix='Wait until the robot is at rest and nothing else is commanded')
        still = np.zeros_like(self._plant.q)
        here = (self._advance_reference() if self.mode is DriveMode.TRAJECTORY
                else (self._plant.q, still, still))
        if times[0] > 0.0:
            times, rows = [0.0, *times], [list(here[:len(rows[0])]), *rows]
        path = BPoly.from_derivatives(times, [np.array(row) for row in rows])
        self._require_near(path(0.0), here[0])
        self._path = path
        self._began, self.mode, self._latched = self.t, DriveMode.TRAJECTORY, False

    def stop(self, reason: str) -> None:
        """Brake every joint and hold; accepted in every mode."""
        self._latched = True
        self._pending.clear()
        if self.mode in (DriveMode.BRAKING, DriveMode.HOLDING):
            return
        self.reason = reason
        self._brake(DriveMode.BRAKING)

    def _brake(self, mode: DriveMode) -> None:
        # A torque command has no reference: the motion itself is what is slowed down.
        q, v = self._reference[:2]
        if self.mode is DriveMode.TORQUE:
            q, v = self._plant.q, self._plant.v
        self._reference, self.mode = (q, v, np.zeros_like(v)), mode

    def step(self) -> np.ndarray:
        """Advance the robot by one step; the torques that were applied, shape ``(n,)``."""
        while self._pending and self._pending[0][0] <= self.t:
            _, mode, values = self._pending.popleft()
            if mode is DriveMode.TORQUE:
                self._torque = values
            else:
                self._target = values
        self._listen()
        wanted = self._torque if self.mode is DriveMode.TORQUE else self._track()
        torque = np.clip(wanted, -self._settings.effort, self._settings.effort)
        self.counts['saturated'] += int((torque != wanted).any())
        self._plant.step(torque)
        self.t += self._plant.timestep
        return torque

    def _listen(self) -> None:
        """Notice that a stream is silent."""
        stream = _STREAM_OF.get(self.mode)
        if stream is None:
            return
        silence = self.t - self._heard[stream]
        if silence > self._settings.timeout:
            self._lose_stream()
        elif self.mode is DriveMode.TORQUE and silence > self._settings.patience:
            self.counts['bridged'] += 1
            self._brake(DriveMode.BRIDGING)

    def _lose_stream(self) -> None:
        """Brake; a robot that stands still is held, and the stream may go on."""
        reason = f'no command for {self._settings.timeout} s'
        if (np.abs(self._plant.v) < _REST).all():
            self.mode, self.reason = DriveMode.HOLDING, reason
            still = np.zeros_like(self._plant.v)
            # A servo whose command went to where its load has pulled it would give way further.
            held = self._plant.q if self._settings.gains is None else self._reference[0]
            self._reference = (held, still, still)
            self._pending.clear()
        else:
            self.stop(reason)

    def _take(self, mode: DriveMode, values: np.ndarray) -> None:
        if self.mode is not mode:
            if not self._may_begin(mode):
                self.counts['ignored'] += 1
                return
            self.mode, self._latched = mode, False
            # Until its first command has come through, the robot is held as it was.
            self._torque = self._plant.torque_for(np.zeros_like(values))
            self._target = values if self._settings.gains is None else self._reference[0]
        self._heard[mode] = self.t
        self._pending.append((self.t + self._settings.delay, mode, values))

    def _may_begin(self, mode: DriveMode) -> bool:
        """Whether the drives turn to another stream of commands."""
        silent = self.t - self._heard.get(mode, -np.inf) > self._settings.timeout
        self._heard[mode] = self.t
        if _STREAM_OF.get(self.mode, self.mode) is mode:
            return True
        return self.at_rest and (not self._latched or silent)

    def _track(self) -> np.ndarray:
        """Torques of the position loop."""
        q_ref, v_ref, a_ref = self._advance_reference()
        q, v = self._plant.q, self._plant.v
        self._reference = (q_ref, v_ref, a_ref)
        if self._settings.gains is not None:
            stiffness, damping = self._settings.gains
            return np.asarray(stiffness * (q_ref - q) - damping * v)
        a = a_ref + 2.0 * _LOOP * (v_ref - v) + _LOOP**2 * (q_ref - q)
        return self._plant.torque_for(a)

    def _advance_reference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The reference one step on."""
        (q, v, _), dt = self._reference, self._plant.timestep
        still = np.zeros_like(v)
        if self.mode is DriveMode.POSITION and self._settings.gains is not None:
            return self._target, still, still
        if self.mode is DriveMode.POSITION:
            a = _FILTER**2 * (self._target - q) - 2.0 * _FILTER * v
            return q + dt * v, v + dt * a, a
        if self.mode in (DriveMode.BRIDGING, DriveMode.BRAKING):
            slower = np.maximum(np.abs(v) - dt * self._settings.deceleration, 0.0) * np.sign(v)
            if self.mode is DriveMode.BRAKING and not slower.any():
                self.mode = DriveMode.HOLDING
            return q + 0.5 * dt * (v + slower), slower, (slower - v) / dt
        if self.mode is DriveMode.TRAJECTORY and self._path is not None:
            t = min(self.t - self._began, float(self._path.x[-1]))
            moving = t < self._path.x[-1]
            if not moving:
                self.mode = DriveMode.HOLDING
            return (
                self._path(t), self._path(t, 1) if moving else still,
                self._path(t, 2) if moving else still)
        return q, still, still

    def _checked(self, values: ArrayLike) -> np.ndarray:
        array = np.asarray(values, dtype=float)
        if array.shape != self._plant.q.shape or not np.isfinite(array).all():
            self.counts['malformed'] += 1
            raise SysidError(
                'a command does not fit the robot', found=f'{list(array)}',
                allowed=f'{len(self._plant.q)} finite numbers',
                fix='Send one finite number for each joint')
        return array

    def _require_near(self, wanted: np.ndarray, here: np.ndarray) -> None:
        away = np.abs(wanted - here)
        if (away > self._settings.tolerance).any():
            raise SysidError(
                'the commands do not begin where the robot is', found=f'{away.max():.3g} away',
                allowed=f'{self._settings.tolerance} rad or m',
                fix='Begin at the measured positions')

    def _require_path(
        self, times: Sequence[float], rows: Sequence[Sequence[np.ndarray]]
    ) -> None:
        if not ((np.diff(times) > 0.0).all() and np.isfinite(times).all()):
            raise SysidError(
                'the times of a trajectory do not rise', found=list(times)[:5],
                fix='Give rising times from the start, in s')
        if times[-1] <= 0.0:
            raise SysidError(
                'the trajectory is over', found=f'{-times[-1]:.3g} s ago',
                fix='See that the clocks of both computers agree')
        if len({len(row) for row in rows}) != 1 or not rows[0]:
            raise SysidError(
                'the points of a trajectory do not give the same quantities',
                fix='Give positions, velocities and accelerations of all points, or of none')
        if len(rows[0]) > 1 and (np.abs(rows[-1][1]) > _REST).any():
            raise SysidError(
                'a trajectory must end at rest', found=f'velocities {list(rows[-1][1])}',
                fix='End with velocities of zero')
