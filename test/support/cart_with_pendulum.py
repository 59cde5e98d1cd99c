r"""A cart that carries a pendulum, by Lagrange's equations and SciPy: the pendulum has no encoder.

With the cart at x and the pendulum at :math:`\theta` from hanging down, about +y,

.. math::
   (M + m)\ddot x - m l \cos\theta\, \ddot\theta + m l \sin\theta\, \dot\theta^2 &= F - c \dot x \\
   (I + m l^2)\ddot\theta - m l \cos\theta\, \ddot x + m g l \sin\theta &= -d \dot\theta - k \theta.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

CART, PENDULUM = 1.2, 0.4
LENGTH, INERTIA, GRAVITY = 0.25, 3e-3, 9.81
FRICTION, DAMPING = 0.8, 4e-3


def urdf(factor=1.0):
    """The description, its masses times a factor."""
    return f"""<robot name="cart"><link name="rail"/>
<link name="cart"><inertial><mass value="{factor * CART}"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
  <limit lower="-5" upper="5" velocity="10" effort="100"/>
  <dynamics damping="{FRICTION}" friction="0"/></joint>
<link name="pendulum"><inertial><origin xyz="0 0 -{LENGTH}"/><mass value="{factor * PENDULUM}"/>
  <inertia ixx="{factor * INERTIA}" ixy="0" ixz="0" iyy="{factor * INERTIA}" iyz="0"
           izz="{0.2 * factor * INERTIA}"/></inertial></link>
<joint name="swing" type="continuous"><parent link="cart"/><child link="pendulum"/>
  <axis xyz="0 1 0"/><dynamics damping="{DAMPING}" friction="0"/></joint></robot>"""


class Motion(NamedTuple):
    """Stamps ``(T,)``, positions and velocities ``(T, 2)``, and the force on the cart ``(T,)``."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    force: np.ndarray


def motion(start, seconds=6.0, rate=200.0, seed=0, stiffness=0.0):
    """Motion from rest at positions ``start``, under a force of some sines and a soft spring."""
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 4)
    omega = 2.0 * np.pi * np.array([0.4, 0.9, 1.6, 2.3])
    t = np.arange(round(seconds * rate) + 1) / rate
    pulls = np.sin(np.outer(t, omega) + phases) @ np.array([2.0, 1.0, 2.0, 2.0])

    def slope(time, x, force):
        _, theta, speed, turning = x
        coupling = PENDULUM * LENGTH * np.cos(theta)
        mass = np.array([
            [CART + PENDULUM, -coupling], [-coupling, INERTIA + PENDULUM * LENGTH**2]])
        right = np.array([
            force(time) - FRICTION * speed - PENDULUM * LENGTH * np.sin(theta) * turning**2,
            -DAMPING * turning - stiffness * theta - PENDULUM * GRAVITY * LENGTH * np.sin(theta)])
        return np.array([speed, turning, *np.linalg.solve(mass, right)])

    # The force is a drive's: linear from sample to sample, as it is recorded.
    def force(time):
        return np.interp(time, t, pulls)

    x = solve_ivp(
        slope, (0.0, t[-1]), [*start, 0.0, 0.0], t_eval=t, args=(force,), rtol=1e-9, atol=1e-9,
        max_step=1.0 / rate).y.T
    return Motion(t, x[:, :2], x[:, 2:], pulls)
