r"""The state of a robot now, from what was measured a moment ago and commanded since.

Between the encoder and the drive lie a period of the joint states, one of the controller, and the
way of both messages. A controller whose feedback is computed from the old state is late by all of
it: at 125 Hz, with a natural frequency of 30 rad/s, a robot whose model is exact is unstable at the
worst of phases. Under computed torque every joint is a double integrator of what was commanded, so

.. math::
    \dot q(t) = \dot q(t_m) + \int_{t_m}^{t} \ddot q_c(s)\, ds, \qquad
    q(t) = q(t_m) + \int_{t_m}^{t} \dot q(s)\, ds, \qquad
    \ddot q_c = \ddot q_r + u - \bar u,

with the accelerations of the reference :math:`\ddot q_r` and of the feedback :math:`u`, each held
until the next one. Feedback that lasts, its low-passed part :math:`\bar u`, makes up for what the
model lacks and moves nothing; taken for motion, it would make the joint softer.

References:
    Åström and Wittenmark 1997, Computer-Controlled Systems, section 3.2 (sampling with time delay).
"""

from __future__ import annotations

from collections import deque

import numpy as np


class StatePredictor:
    """Integrates commanded accelerations from the instant of a measurement on.

    Args:
        n: Number of joints.
        longest: Longest time in [s] that is looked back.
        lasting: Time constant in [s] of the low-pass that tells which feedback lasts.
    """

    def __init__(self, n: int, longest: float, lasting: float) -> None:
        self._longest, self._time_constant = longest, lasting
        self._lasting, self._last = np.zeros(n), np.inf
        self._commanded: deque[tuple[float, np.ndarray]] = deque([(-np.inf, np.zeros(n))])

    def command(self, moment: float, reference: np.ndarray, feedback: np.ndarray) -> None:
        """Take in accelerations that are commanded from a moment on, in [rad/s²] or [m/s²].

        Args:
            moment: When, by the steady clock in [s]; not before the last one.
            reference: Those of the reference, shape ``(n,)``.
            feedback: Those of the feedback, shape ``(n,)``.
        """
        step, self._last = max(moment - self._last, 0.0), moment
        weight = -np.expm1(-step / self._time_constant)
        self._lasting = self._lasting + weight * (feedback - self._lasting)
        self._commanded.append((moment, reference + feedback - self._lasting))
        # One that is older than what is looked back to still holds at its beginning.
        while self._commanded[1][0] <= moment - self._longest:
            self._commanded.popleft()

    def predict(
        self, q: np.ndarray, v: np.ndarray, measured: float, moment: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at a moment, each of shape ``(n,)``.

        Args:
            q: Measured positions in [rad] or [m], shape ``(n,)``.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.
            measured: When they were measured, by the steady clock in [s].
            moment: The moment, not before that; no more than ``longest`` later.
        """
        start = measured
        ends = [began for began, _ in self._commanded][1:] + [moment]
        for (_, a), end in zip(self._commanded, ends, strict=True):
            step = min(end, moment) - start
            if step > 0.0:
                q, v, start = q + step * (v + 0.5 * step * a), v + step * a, start + step
        return q, v
