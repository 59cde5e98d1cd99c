"""The four-bar linkage of Blanco-Claraco, Leanza and Reina, and its motion by an own way.

Everything but the crank angle is eliminated by hand: points by the intersection of two circles,
the reduced inertia by their derivatives. SciPy's eighth-order method integrates what is left at
1e-12, so nothing of the package is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

# Lengths in [m] and masses in [kg] of crank, coupler and rocker; the second pivot at (4, 0).
LENGTHS = (1.0, 2.0, np.sqrt(13.0))
MASSES = (1.0, 2.0, 4.0)
PIVOT = np.array([4.0, 0.0])

_POINTS = """
name: four-bar
gravity: [0.0, -{gravity}]
points:
  A: {{at: [0, 0], fixed: true}}
  P1: {{at: [1, 0]}}
  P2: {{at: [1, 2]}}
  B: {{at: [4, 0], fixed: true}}
bodies:
  crank: {{points: [A, P1], mass: 1.0}}
  coupler: {{points: [P1, P2], mass: 2.0}}
  rocker: {{points: [P2, B], mass: 4.0}}
"""
_ANGLE = """
angles:
  theta: {{of: [A, P1]{more}}}
torques: [theta]
independent: [theta]
"""


def description(gravity=9.8, *, angle=True, more=''):
    """The mechanism as YAML: points alone, or the crank angle and a motor too."""
    text = _POINTS.format(gravity=repr(gravity))
    return text + _ANGLE.format(more=f', {more}' if more else '') if angle else text


@dataclass
class FourBar:
    """The linkage, reduced to its crank angle.

    masses in [kg], gravity in [m/s²], viscous friction of the crank in [N·m·s/rad].
    """

    masses: tuple = MASSES
    gravity: float = 9.8
    friction: float = 0.0

    def points(self, theta):
        """Both moving points and their first and second derivatives by the angle, each (..., 2)."""
        theta = np.asarray(theta, dtype=float)
        first = np.stack([np.cos(theta), np.sin(theta)], -1) * LENGTHS[0]
        by_angle = np.stack([-first[..., 1], first[..., 0]], -1)
        way = PIVOT - first
        distance = np.linalg.norm(way, axis=-1, keepdims=True)
        along = (LENGTHS[1]**2 - LENGTHS[2]**2 + distance**2) / (2.0 * distance)
        across = np.sqrt(LENGTHS[1]**2 - along**2)
        unit = way / distance
        second = first + along * unit + across * np.stack([-unit[..., 1], unit[..., 0]], -1)
        # (P2 - P1) . (P2' - P1') = 0 and (P2 - B) . P2' = 0, and these once more.
        coupler, rocker = second - first, second - PIVOT
        matrix = np.stack([coupler, rocker], -2)
        right = np.stack([np.sum(coupler * by_angle, -1), np.zeros(theta.shape)], -1)
        slope = np.linalg.solve(matrix, right[..., None])[..., 0]
        change = slope - by_angle
        right = np.stack([
            np.sum(-coupler * first - change * change, -1), -np.sum(slope * slope, -1)], -1)
        curve = np.linalg.solve(matrix, right[..., None])[..., 0]
        return (first, second), (by_angle, slope), (-first, curve)

    def inertia(self, theta):
        """Reduced inertia, half its derivative, and the derivative of the potential energy."""
        _, (u, w), (du, dw) = self.points(theta)
        m1, m2, m3 = self.masses

        def dot(x, y):
            return np.sum(x * y, -1)

        inertia = ((m1 + m2) * dot(u, u) + m2 * dot(u, w) + (m2 + m3) * dot(w, w)) / 3.0
        half = ((m1 + m2) * dot(u, du) + 0.5 * m2 * (dot(du, w) + dot(u, dw))
                + (m2 + m3) * dot(w, dw)) / 3.0
        weight = 0.5 * self.gravity * ((m1 + m2) * u[..., 1] + (m2 + m3) * w[..., 1])
        return inertia, half, weight

    def torque(self, theta, rate, acceleration):
        """The crank torque of a motion."""
        inertia, half, weight = self.inertia(theta)
        return inertia * acceleration + half * rate**2 + weight + self.friction * rate

    def motion(self, t, torque=None, start=(0.0, 0.0)):
        """Angle, rate and acceleration at times, under a torque that is a function of time."""
        def slope(time, x):
            inertia, half, weight = self.inertia(x[0])
            pull = 0.0 if torque is None else torque(time)
            return [x[1], (pull - self.friction * x[1] - half * x[1]**2 - weight) / inertia]

        found = solve_ivp(
            slope, (t[0], t[-1]), start, method='DOP853', t_eval=t, rtol=1e-12, atol=1e-13)
        theta, rate = found.y
        acceleration = np.array([slope(*x)[1] for x in zip(t, found.y.T, strict=True)])
        return theta, rate, acceleration

    def coordinates(self, theta, rate, acceleration, *, angle=True):
        """Positions, velocities and accelerations of points and, last, of the angle."""
        p, dp, ddp = (np.concatenate(parts, -1) for parts in self.points(theta))
        w, a = rate[:, None], acceleration[:, None]
        parts = [p, dp * w, ddp * w**2 + dp * a]
        if angle:
            parts = [
                np.column_stack([part, own])
                for part, own in zip(parts, (theta, rate, acceleration), strict=True)]
        return parts
