"""The monitor's eye on everything that moves a robot: who is silent, what is not explained.

Unlike the checks of a playback it belongs to a process of its own, trusts nobody's word
that all is well, and remembers what it found until a person resets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sysid_ros.errors import UnreachableError
from sysid_ros.excitation.playback.checks import Observation, PlaybackTolerances
from sysid_ros.excitation.safety.first_run import MissedTorque, allowed_residual
from sysid_ros.excitation.safety.limit_monitor import LimitMonitor
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.loop_guard import LoopGuard
from sysid_ros.mechanics.closures.closed_chain import neutral_configuration
from sysid_ros.mechanics.torque_model import TorqueModel

# A motion whose commands are not heard for so long is not one to judge tracking by, in [s].
_STALE = 0.2
# How much longer than a node its commands may be silent.
_LATER = 1.5
# The filter of the residual begins anew after so long without a motion, in [s].
_BREAK = 0.5
# Drives, their filters and networks let robots follow a command so late, in [s].
_LAG = 0.1


@dataclass(frozen=True, eq=False)
class Command:
    """Command of a motion as its node publishes it.

    Attributes:
        moving: Whether a motion is under way.
        received: When that was heard in [s].
        q: Commanded positions in [rad] or [m], shape ``(n,)``; None where nothing is commanded.
        a: Commanded accelerations, shape ``(n,)``; None where nothing is commanded.
        done: Whether the last motion was played to its end.
    """

    moving: bool
    received: float
    q: np.ndarray | None = None
    a: np.ndarray | None = None
    done: bool = False


@dataclass(frozen=True)
class Pulse:
    """The last sign of life of a node.

    Attributes:
        received: When it was heard in [s].
        working: Whether the node was moving, recording or fitting.
    """

    received: float
    working: bool


class TorqueResidual:
    r"""Measured torque less the predicted one, both through the same low-pass filter.

    Contact and a payload that nobody told of show here, since no model explains them. One pole at
    the cutoff :math:`f`, over a step :math:`\Delta t` by :math:`1 - e^{-2\pi f \Delta t}`. A robot
    follows its commands some time later, which shows where a stop makes accelerations jump: torque
    is explained that lies between those predicted from any acceleration of that time.

    Args:
        model: The torque model.
        cutoff: Of the filter in [Hz].
    """

    def __init__(self, model: TorqueModel, cutoff: float) -> None:
        self._model, self._cutoff = model, cutoff
        self._values = model.parameters.prior
        self._filtered = np.zeros(len(model.robot.joint_names))
        self._last = -np.inf
        self._told: list[tuple[float, np.ndarray]] = []
        # What is compiled when it is first used is compiled now, not in mid-motion.
        zero = np.zeros((1, len(self._filtered)))
        model.torque(self._values, neutral_configuration(model.robot)[None], zero, zero)

    def use(self, model: TorqueModel, values: np.ndarray) -> None:
        """Predict by another model of the robot and its values, shape ``(p,)``, from now on."""
        self._model, self._values = model, np.array(values, dtype=float)
        self._last = -np.inf

    def update(self, now: float, seen: Observation, a: np.ndarray) -> np.ndarray:
        """The residual just now in [N·m] or [N], shape ``(n,)``; zero where torque is not given.

        Args:
            now: The time in [s].
            seen: What is measured.
            a: Accelerations that are commanded, shape ``(n,)``.
        """
        step = now - self._last
        self._last = now
        if not 0.0 <= step <= _BREAK:
            self._filtered[:] = 0.0
            step = 0.0
            self._told.clear()
        a = self._lately_told(now, a)
        q, v = (np.tile(each, (len(a), 1)) for each in (seen.q, seen.v))
        try:
            torque = self._model.torque(self._values, q, v, a)
        except UnreachableError:
            # No model says what torque loops take that are not closed; the limits say the rest.
            return self._filtered
        explained = np.clip(seen.effort, torque.min(axis=0), torque.max(axis=0))
        residual = np.nan_to_num(seen.effort - explained, nan=0.0, posinf=0.0, neginf=0.0)
        weight = -np.expm1(-2.0 * np.pi * self._cutoff * step)
        self._filtered = self._filtered + weight * (residual - self._filtered)
        return self._filtered

    def _lately_told(self, now: float, a: np.ndarray) -> np.ndarray:
        """Accelerations that a robot may follow by now, ``(k, n)``: that of ``_LAG`` ago, too."""
        self._told.append((now, a))
        while len(self._told) > 1 and self._told[1][0] <= now - _LAG:
            self._told.pop(0)
        return np.stack([each for _, each in self._told])


class MotionMonitor:
    """Judges what is heard of a robot and of the nodes that move it.

    Args:
        model: Torque model of the robot.
        limits: Limits of its joints.
        watched: Nodes whose silence stops the robot.
        settings: What is tolerated.
        residual: Part of the effort limit that the torque residual may reach when torques are
            predicted by identified parameters.
        first_residual: The same while they are predicted by the description alone, which is often
            as wrong as a contact would show, for joints of which nothing is known yet.
        first_run: Multiple of what the description was seen to miss that is allowed of the others,
            between both; 0 for ``first_residual`` throughout.
        cutoff: Of the residual's filter in [Hz].
        rest_velocity: Part of the velocity limit below which a joint is at rest.
        singularity: Part of the singularity margin of closed loops that motions keep.
        missed: What the description was seen to miss before; nothing where left out.
        lost_effort: Whether a moving robot is stopped where a joint gives its effort no more.
    """

    def __init__(
        self, model: TorqueModel, limits: MotionLimits, watched: tuple[str, ...],
        settings: PlaybackTolerances, *, residual: float = 0.3, first_residual: float = 0.8,
        first_run: float = 3.0, cutoff: float = 5.0, rest_velocity: float = 0.02,
        singularity: float = 0.2, missed: MissedTorque | None = None,
        lost_effort: Literal['stop', 'warn'] = 'stop',
    ) -> None:
        self._limits, self._settings = limits, settings
        self._joint_types = model.robot.joint_types
        self._loops = LoopGuard.of(model.robot, limits, singularity)
        self._watched = watched
        self._residual, self._first_residual, self._first_run = residual, first_residual, first_run
        self._missed = missed or MissedTorque(len(limits.joint_names))
        self._identified, self._lost_effort = False, lost_effort
        self._slow = rest_velocity * limits.velocity
        self._torques = TorqueResidual(model, cutoff)
        self.unexplained = np.zeros(len(limits.joint_names))

    def predict_by(self, model: TorqueModel, values: np.ndarray, *, identified: bool) -> None:
        """Predict torques by other parameters from now on.

        Args:
            model: Torque model of the same robot; it may have other joint terms.
            values: Of its parameters, shape ``(p,)``.
            identified: Whether they were identified, or are those of the description.
        """
        self._torques.use(model, values)
        self._identified = identified

    def at_rest(self, seen: Observation) -> bool:
        """Whether joint states that are fresh show rest."""
        fresh = seen.age <= self._settings.limits(seen.rate).state_timeout
        return bool(fresh and (np.abs(seen.v) <= self._slow).all())

    def moving(self, now: float, seen: Observation, command: Command | None) -> bool:
        """Whether the robot moves, is told to, or may move unseen."""
        told = command is not None and command.moving and now - command.received <= _STALE
        return told or (np.isfinite(seen.age) and not self.at_rest(seen))

    def seen_moving(self, seen: Observation) -> bool:
        """Whether joint states showed motion when they last came, however long ago that is.

        Joint states of a resting robot may pause, as they do when a driver is started anew.
        """
        return bool(np.isfinite(seen.q).all() and not (np.abs(seen.v) <= self._slow).all())

    def absent(self, now: float, pulses: Mapping[str, Pulse]) -> tuple[str, ...]:
        """Watched nodes that are silent or were never heard, one sentence each."""
        longest = self._settings.heartbeat_timeout
        said = []
        for name in self._silent(now, pulses):
            heard = 'not heard of'
            if name in pulses:
                heard = f'silent for {now - pulses[name].received:.3g} s'
            said.append(f'{name} is {heard}; {longest:.3g} s is allowed (heartbeat_timeout).')
        return tuple(said)

    def _silent(self, now: float, pulses: Mapping[str, Pulse]) -> list[str]:
        return [
            name for name in self._watched
            if name not in pulses or now - pulses[name].received > self._settings.heartbeat_timeout
        ]

    def unseen(self, seen: Observation) -> str:
        """Why joint states do not show the robot, one sentence; empty while they do."""
        longest = self._settings.limits(seen.rate).state_timeout
        if seen.age <= longest:
            return ''
        who = f'{", ".join(seen.missing)}: no joint states are heard' if seen.missing else (
            f'The last joint state is {seen.age:.3g} s old; {longest:.3g} s is allowed '
            '(state_timeout)')
        return ' '.join(filter(None, (f'{who}. The monitor does not see the robot.', seen.unheard)))

    def findings(
        self, now: float, seen: Observation, command: Command | None, pulses: Mapping[str, Pulse]
    ) -> tuple[str, ...]:
        """Reasons to stop everything, one sentence each; empty when all is well.

        Args:
            now: The time in [s].
            seen: What is measured.
            command: What was last said to be commanded; None before the first word.
            pulses: Last signs of life by node.
        """
        told = command is not None and command.moving
        if command is not None and not told:
            self._missed.end(done=command.done)
        if not (told or self.seen_moving(seen)):
            return ()
        # A robot may be moved by others while no node of ours is there; who fell silent in the
        # middle of something is missed all the same.
        silent = self.absent(now, pulses) if told or any(
            name in pulses and pulses[name].working for name in self._silent(now, pulses)) else ()
        found = (
            *silent, *self._silent_command(now, command),
            *self._robot(now, seen, command if told else None),
        )
        if found:
            self._missed.distrust()
        return found

    def _silent_command(self, now: float, command: Command | None) -> tuple[str, ...]:
        # Later than the heartbeat of the node, which says more.
        longest = _LATER * self._settings.heartbeat_timeout
        if command is None or not command.moving or now - command.received <= longest:
            return ()
        return (
            f'Nothing is heard of the motion for {now - command.received:.3g} s; '
            f'{longest:.3g} s is allowed.',
        )

    def _robot(self, now: float, seen: Observation, command: Command | None) -> tuple[str, ...]:
        monitor = LimitMonitor(
            self._limits, self._joint_types, self._settings.limits(seen.rate), self._loops)
        if command is None and not np.isfinite(seen.q).all():
            return ()
        fresh = command is not None and now - command.received <= _STALE
        q, a = (command.q, command.a) if fresh and command is not None else (None, None)
        found = list(monitor.findings(
            seen.q, seen.v, a=a, effort=seen.effort, commanded=q, age=seen.age))
        if seen.bad_in_a_row > self._settings.bad_in_a_row:
            found.append(
                f'{seen.bad_in_a_row} joint states in a row have no finite position.')
        if self._lost_effort == 'stop':
            found += self._lost_efforts(seen)
        if a is not None and np.isfinite(seen.v).all():
            found += self._contact(now, seen, a)
        return tuple(found)

    def _lost_efforts(self, seen: Observation) -> list[str]:
        return [
            f'The effort of {joint} is no longer given, in {count} joint states in a row; '
            f'{self._settings.bad_in_a_row} are allowed (bad_in_a_row). Without it neither contact '
            'nor overload of the joint is noticed; lost_effort: warn goes on all the same.'
            for joint, count in seen.lost_efforts.items() if count > self._settings.bad_in_a_row]

    def _contact(self, now: float, seen: Observation, a: np.ndarray) -> list[str]:
        # Of a joint without effort nothing is known, and nothing is learned.
        self.unexplained = np.where(
            np.isfinite(seen.effort), self._torques.update(now, seen, a), np.nan)
        model, cause = 'model', 'Contact, or a payload?'
        effort = self._limits.effort
        allowed, names = self._residual * effort, ['residual'] * len(effort)
        if not self._identified:
            model, cause = 'description', 'Contact, a payload, or a description that is so wrong?'
            allowed, names = allowed_residual(
                self._missed.level, effort, multiple=self._first_run, least=self._residual,
                most=self._first_residual)
            self._missed.update(self.unexplained, seen.v, self._slow)
        found = [
            f'The torque of {self._limits.joint_names[k]} is {self.unexplained[k]:.3g} away from '
            f'what the {model} predicts; {allowed[k]:.3g} is allowed ({names[k]})'
            f'{self._seen_to_miss(k) if names[k] == "first_run" else ""}.'
            for k in np.flatnonzero(np.abs(self.unexplained) > allowed).tolist()
        ]
        # What explains one of them may explain all.
        return [*found[:-1], f'{found[-1]} {cause}'] if found else []

    def _seen_to_miss(self, joint: int) -> str:
        level = self._missed.level[joint]
        return f', {self._first_run:g} times the {level:.3g} that it missed in motions before'
