"""Joints that stick and slip: true motions of mechanisms with set-valued dry friction.

A joint slips, or sticks exactly. When it changes is found as a root in the length of a step. Steps
are those of the eighth-order method of Dormand and Prince, of one sample or shorter. A joint that
stops and goes on within a fraction of one sample is not noticed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

RATE = 1000.0
# Sticking up to this part above the limit is rounding.
_ROUNDING = 1e-10
_STAGES, _WEIGHTS = DOP853.A, DOP853.B


@dataclass(frozen=True)
class Friction:
    """Friction of a hinge.

    Attributes:
        viscous: In [N·m·s/rad].
        dry: Of sliding, in [N·m].
        load: Of sliding, over the 1-norm of the hinge's reactions: forces along the world's axes
            times ``arm``, and torques about the parent's axes across the hinge (eq. F.4).
        arm: Distance r of the paper in [m].
        extra: How much larger it is at rest, as a part of that of sliding.
        rate: How fast that falls with squared speed in [s²/rad²] (eq. 4.1).
    """

    viscous: float = 0.0
    dry: float = 0.0
    load: float = 0.0
    arm: float = 1.0
    extra: float = 0.0
    rate: float = 0.0

    def level(self, speed: float) -> float:
        """Factor of dry friction at a speed."""
        return 1.0 + self.extra * math.exp(-self.rate * speed * speed)


class Plant:
    """A mechanism of one or two joints: what its equations of motion give."""

    friction: tuple[Friction, ...]

    def equations(self, q: Sequence[float], v: Sequence[float], u: float) -> tuple:
        """Mass matrix as rows, and torques without dry friction."""
        raise NotImplementedError

    def reactions(self, q: Sequence[float], v: Sequence[float], a: Sequence[float]) -> tuple:
        """Of each hinge the sums of absolute forces [N] and of absolute torques [N·m]."""
        raise NotImplementedError

    def energy(self, q: Sequence[float], v: Sequence[float]) -> float:
        """Kinetic and potential energy in [J]."""
        raise NotImplementedError

    def motion(
        self, q: Sequence[float], v: Sequence[float], u: float, signs: Sequence[int]
    ) -> tuple[list, list, list]:
        """Accelerations, dry torques and their limits.

        Args:
            q: Angles.
            v: Speeds.
            u: Control signal.
            signs: Where each joint slips to; 0 sticks, which may ask for more than the limit.
        """
        mass, torque = self.equations(q, v, u)
        levels = [f.level(speed) for f, speed in zip(self.friction, v, strict=True)]
        limits = [f.dry * level for f, level in zip(self.friction, levels, strict=True)]
        loaded = any(f.load for f in self.friction)
        for _ in range(100):
            a, dry = _accelerations(mass, torque, signs, limits)
            if not loaded:
                return a, dry, limits
            before = limits
            limits = [
                level * (f.dry + f.load * (f.arm * force + moment))
                for f, level, (force, moment) in zip(
                    self.friction, levels, self.reactions(q, v, a), strict=True)]
            if all(abs(x - y) <= 1e-14 * (x + y) for x, y in zip(limits, before, strict=True)):
                return a, dry, limits
        raise RuntimeError('friction that follows its own load has no solution')


def _accelerations(
    mass: Sequence[Sequence[float]], torque: Sequence[float], signs: Sequence[int],
    limits: Sequence[float],
) -> tuple[list, list]:
    """Accelerations and dry torques of given slip and limits."""
    dry = [-sign * limit for sign, limit in zip(signs, limits, strict=True)]
    if len(dry) == 1:
        if signs[0]:
            return [(torque[0] + dry[0]) / mass[0][0]], dry
        return [0.0], [-torque[0]]
    (m11, m12), (_, m22) = mass
    one, two = torque[0] + dry[0], torque[1] + dry[1]
    if signs[0] and signs[1]:
        det = m11 * m22 - m12 * m12
        return [(m22 * one - m12 * two) / det, (m11 * two - m12 * one) / det], dry
    a = [one / m11 if signs[0] else 0.0, two / m22 if signs[1] else 0.0]
    if not signs[0]:
        dry[0] = m12 * a[1] - torque[0]
    if not signs[1]:
        dry[1] = m12 * a[0] - torque[1]
    return a, dry


@dataclass(frozen=True, eq=False)
class Motion:
    """A true motion of n joints at T instants.

    Attributes:
        t: In [s], shape ``(T,)``.
        q: Angles in [rad], shape ``(T, n)``.
        v: Speeds in [rad/s], shape ``(T, n)``.
        u: Control signal, held from each instant to the next, shape ``(T,)``.
        lost: Energy that each joint's friction has taken so far in [J], shape ``(T, n)``.
        changes: How often a joint began to stick or to slip.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    lost: np.ndarray
    changes: int

    def measured(self, sigma: float = 1e-3, seed: int = 0) -> np.ndarray:
        """Angles with white noise, shape ``(T, n)``."""
        return self.q + sigma * np.random.default_rng(seed).normal(size=self.q.shape)


def simulate(
    plant: Plant, q: Sequence[float], v: Sequence[float], seconds: float,
    control: Callable[[float, Sequence[float], Sequence[float]], float] = lambda t, q, v: 0.0,
    rate: float = RATE,
) -> Motion:
    """A motion sampled at a rate.

    Args:
        plant: What moves.
        q: First angles.
        v: First speeds.
        seconds: How long.
        control: Of time, angles and speeds: the signal until the next instant.
        rate: Instants in [1/s].
    """
    n, count = len(q), round(seconds * rate)
    walk = _Walk(plant, np.concatenate([q, v, np.zeros(n)]))
    states, signals = np.empty((count + 1, 3 * n)), np.empty(count + 1)
    for k in range(count + 1):
        x = walk.x
        states[k], signals[k] = x, control(k / rate, x[:n].tolist(), x[n:2 * n].tolist())
        if k < count:
            walk.advance(1.0 / rate, float(signals[k]))
    return Motion(
        np.arange(count + 1) / rate, states[:, :n], states[:, n:2 * n], signals, states[:, 2 * n:],
        walk.changes)


class _Walk:
    """A motion on its way: its state, and which joints slip."""

    def __init__(self, plant: Plant, x: np.ndarray) -> None:
        self.plant, self.n, self.x, self.changes = plant, len(x) // 3, x, 0
        self.viscous = np.array([f.viscous for f in plant.friction])
        # A joint without dry friction always slips, it does not matter where to.
        self.dry = [joint for joint, f in enumerate(plant.friction) if f.dry or f.load]
        self.signs = [1] * self.n
        for joint in self.dry:
            self.signs[joint] = int(np.sign(x[self.n + joint]))

    def _motion(self, x: np.ndarray, u: float, signs: Sequence[int]) -> tuple[list, list, list]:
        n = self.n
        return self.plant.motion(x[:n].tolist(), x[n:2 * n].tolist(), u, signs)

    def _after(self, h: float, u: float) -> np.ndarray:
        """The state after a step in which nothing begins to stick or to slip."""
        n, stages = self.n, np.empty((len(_WEIGHTS), len(self.x)))
        for i, row in enumerate(_STAGES):
            x = self.x + h * (row[:i] @ stages[:i])
            a, dry, _ = self._motion(x, u, self.signs)
            v = x[n:2 * n]
            stages[i, :n], stages[i, n:2 * n] = v, a
            stages[i, 2 * n:] = self.viscous * v * v - dry * v
        return self.x + h * (_WEIGHTS @ stages)

    def _gap(self, joint: int, x: np.ndarray, u: float) -> float:
        """What is left until a joint stops, or lets go."""
        if self.signs[joint]:
            return self.signs[joint] * x[self.n + joint]
        _, dry, limits = self._motion(x, u, self.signs)
        return limits[joint] - abs(dry[joint])

    def advance(self, h: float, u: float) -> None:
        """Move on by a time."""
        self._choose(u)
        for _ in range(100):
            x = self._after(h, u)
            events = [
                (self._length_of(joint, h, u), joint)
                for joint in self.dry if self._gap(joint, x, u) < 0.0]
            if not events:
                self.x = x
                return
            length, joint = min(events)
            self.x, h = self._after(length, u), h - length
            self.x[self.n + joint] = 0.0
            loose = None
            if self.signs[joint] == 0:
                loose = joint, -int(np.sign(self._motion(self.x, u, self.signs)[1][joint]))
            self._choose(u, loose)
        raise RuntimeError('sticking and slipping alternate without end')

    def _length_of(self, joint: int, h: float, u: float) -> float:
        """Length of the step after which a joint stops or lets go."""
        def gap(length: float) -> float:
            return self._gap(joint, self._after(length, u), u)

        # A joint that has just begun to slip is at rest at the step's start.
        low = 0.0 if self._gap(joint, self.x, u) > 0.0 else 0.5 * h
        for _ in range(40):
            if gap(low) > 0.0:
                return brentq(gap, low, h, xtol=1e-16, rtol=1e-14)
            low, h = 0.5 * low, low
        return 0.0

    def _choose(self, u: float, loose: tuple[int, int] | None = None) -> None:
        """Decide which joints at rest stick: as many as can.

        Args:
            u: Control signal.
            loose: A joint that has just reached its limit, and where it slips to.
        """
        resting = [joint for joint in self.dry if self.x[self.n + joint] == 0.0]
        if not resting:
            return
        before = list(self.signs)
        options = [
            (loose[1],) if loose and joint == loose[0] else (0, 1, -1) for joint in resting]
        for chosen in sorted(itertools.product(*options), key=lambda c: sum(map(abs, c))):
            signs = list(before)
            for joint, sign in zip(resting, chosen, strict=True):
                signs[joint] = sign
            if self._consistent(signs, resting, u, loose):
                self.changes += signs != before
                self.signs = signs
                return
        raise RuntimeError('dry friction has no solution')

    def _consistent(
        self, signs: Sequence[int], resting: Sequence[int], u: float,
        loose: tuple[int, int] | None,
    ) -> bool:
        """Whether sticking joints stay within limits, and slipping ones go where they slip to."""
        a, dry, limits = self._motion(self.x, u, signs)
        for joint in resting:
            sign = signs[joint]
            if sign == 0 and abs(dry[joint]) > limits[joint] * (1.0 + _ROUNDING):
                return False
            # What lets go at its limit begins without acceleration.
            if sign * a[joint] < 0.0 and (loose is None or joint != loose[0]):
                return False
        return True
