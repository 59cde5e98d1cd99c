"""Planar mechanisms for tests, with equations of motion that nothing of the package is used for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLIDER_CRANK = """
name: slider-crank
gravity: [0.7, -9.0]
points:
  A: {at: [0, 0], fixed: true}
  P: {at: [0.3, 0.4]}
  G: {at: [1.5, 0]}
  H: {at: [3, 0], fixed: true}
bodies:
  crank: {points: [A, P], mass: 1.2, center: [0.2, 0.05], inertia: 0.2}
  rod: {points: [P, G], mass: 0.7, center: [0.6, -0.1], inertia: 0.5}
angles:
  theta: {of: [A, P], viscous_friction: 0.3, stiffness: 2.0, rest: 0.4, torque_offset: 0.1,
          armature: 0.05}
sliders:
  piston: {point: G, line: [H, A]}
torques: [theta]
"""
CRANK, ROD = 0.5, float(np.hypot(1.2, 0.4))


@dataclass
class SliderCrank:
    """The slider-crank reduced to its crank angle by hand.

    T(theta) and V(theta) are of the two centres of mass; their derivatives are central differences
    of a step at which the error is below 1e-9.
    """

    step: float = 1e-5

    def pose(self, theta):
        """Crank pin, piston, and angle of the rod, the piston ahead of the crank."""
        pin = CRANK * np.array([np.cos(theta), np.sin(theta)])
        piston = np.array([pin[0] + np.sqrt(ROD**2 - pin[1]**2), 0.0])
        return pin, piston, np.arctan2(-pin[1], piston[0] - pin[0])

    def centres(self, theta):
        """Centres of mass of crank and rod, and the rod's angle: five numbers."""
        pin, _, beta = self.pose(theta)
        c, s = np.cos(theta), np.sin(theta)
        crank = np.array([0.2 * c - 0.05 * s, 0.2 * s + 0.05 * c])
        c, s = np.cos(beta), np.sin(beta)
        rod = pin + np.array([0.6 * c + 0.1 * s, 0.6 * s - 0.1 * c])
        return np.array([*crank, *rod, beta])

    def inertia(self, theta):
        """Reduced moment of inertia."""
        rate = (self.centres(theta + self.step) - self.centres(theta - self.step)) / (
            2.0 * self.step)
        about_centre = 0.2 - 1.2 * (0.2**2 + 0.05**2), 0.5 - 0.7 * (0.6**2 + 0.1**2)
        return float(
            1.2 * rate[:2] @ rate[:2] + 0.7 * rate[2:4] @ rate[2:4] + about_centre[0]
            + about_centre[1] * rate[4]**2 + 0.05)

    def potential(self, theta):
        """Of weight and spring."""
        place, gravity = self.centres(theta), np.array([0.7, -9.0])
        return float(-1.2 * gravity @ place[:2] - 0.7 * gravity @ place[2:4]
                     + (theta - 0.4)**2)

    def torque(self, theta, rate, acceleration):
        """What drives the crank along a motion."""
        h = 1e-4
        half = 0.5 * (self.inertia(theta + h) - self.inertia(theta - h)) / (2.0 * h)
        pull = (self.potential(theta + h) - self.potential(theta - h)) / (2.0 * h)
        return (self.inertia(theta) * acceleration + half * rate**2 + pull + 0.3 * rate + 0.1)


#: Angles all around a four-bar, at each of which something acts: one joint of the loop is cut.
RUBBED_FOUR_BAR = """
name: rubbed
gravity: [0.0, -9.8]
points:
  A: {at: [0, 0], fixed: true}
  P1: {at: [1, 0]}
  P2: {at: [1, 2]}
  B: {at: [4, 0], fixed: true}
bodies:
  crank: {points: [A, P1], mass: 1.0}
  coupler: {points: [P1, P2], mass: 2.0}
  rocker: {points: [P2, B], mass: 4.0}
angles:
  theta: {of: [A, P1], viscous_friction: 0.3}
  elbow: {of: [P1, P2], against: [P1, A], viscous_friction: 0.5}
  knee: {of: [P2, P1], against: [P2, B], viscous_friction: 0.7}
  heel: {of: [B, P2], viscous_friction: 0.9}
torques: [theta]
"""
