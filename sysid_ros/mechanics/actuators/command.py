r"""Commands that drives hold until the next one comes, as a simulation by steps sees them.

A command u(t) that jumps within a step of the integration would spoil its order, and the motion
would have no derivative by the delay d with which it arrives. So each step [a, b] of length h sees
the straight line that comes nearest to :math:`u(t - d)` in :math:`L^2`: with the integral of the
held command, :math:`m = \tfrac1h \int u`, and its first moment about the middle c,
:math:`s = \tfrac1{h^2} \int (t - c)\, u`, it goes from :math:`m - 6 s` to :math:`m + 6 s`.
The impulse of what is proportional to the command and its lever in time are kept, and the line is
differentiable by the delay:

.. math:: \frac{\partial m}{\partial d} = \frac{u(a - d) - u(b - d)}{h}, \qquad
          \frac{\partial s}{\partial d} = \frac1h \Big(m - \frac{u(a - d) + u(b - d)}2\Big).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class CommandLines(NamedTuple):
    """Commands of n joints in S steps of an integration.

    Attributes:
        value: At the beginning and the end of every step, linear in between, shape ``(S, 2, n)``.
        by_delay: Derivatives of these by the delay, shape ``(S, 2, n)``.
    """

    value: np.ndarray
    by_delay: np.ndarray


@dataclass(frozen=True, eq=False)
class HeldCommand:
    """Commands of n joints, each held until the next one.

    Before the first stamp the first command holds, after the last the last.

    Attributes:
        t: When they were given, in [s], increasing, shape ``(K,)``.
        values: What was commanded, finite, shape ``(K, n)``.
    """

    t: np.ndarray
    values: np.ndarray

    def at(self, t: np.ndarray) -> np.ndarray:
        """The commands that hold at times in [s], ``(T,)``: shape ``(T, n)``."""
        return self.values[self._rows(t)]

    def _rows(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(np.searchsorted(self.t, t, side='right') - 1, 0)

    def lines(self, start: float, step: float, count: int, delay: float) -> CommandLines:
        """The commands as steps of an integration see them.

        Args:
            start: Beginning of the first step in [s].
            step: Length of a step in [s].
            count: How many steps S there are.
            delay: Time from a command to its effect in [s].
        """
        edges = start + step * np.arange(count + 1) - delay
        row = self._rows(edges)
        held = self.values[row]
        # Integrals from the first stamp on, of u and of u times the time since then.
        t, x = self.t - self.t[0], edges - self.t[0]
        lengths, squares = np.diff(t)[:, None], np.diff(t**2)[:, None]
        area = _summed(self.values[:-1] * lengths)[row] + held * (x - t[row])[:, None]
        moment = _summed(0.5 * self.values[:-1] * squares)[row] + (
            0.5 * held * (x**2 - t[row]**2)[:, None])
        mean = np.diff(area, axis=0) / step
        middle = 0.5 * (x[1:] + x[:-1])[:, None]
        lever = (np.diff(moment, axis=0) / step - middle * mean) / step
        mean_by = (held[:-1] - held[1:]) / step
        lever_by = (mean - 0.5 * (held[:-1] + held[1:])) / step
        return CommandLines(_ends(mean, lever), _ends(mean_by, lever_by))


def _summed(parts: np.ndarray) -> np.ndarray:
    """Sums of all parts before each, one more than there are parts, shape ``(K, n)``."""
    return np.vstack([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)])


def _ends(mean: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """Both ends of the lines with these means and first moments, shape ``(S, 2, n)``."""
    return np.stack([mean - 6.0 * lever, mean + 6.0 * lever], axis=1)
