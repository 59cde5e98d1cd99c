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

Drives may smooth what they are told, by a filter of first order: :math:`T \dot y + y = u`. From
one stamp to the next y decays exponentially to the command. Its line follows from that of u, since
:math:`\int y = \int u - T\,[y]` and :math:`\int (t - c)\, y = \int (t - c)\, u -
T\,[(t - c)\, y] + T \int y` over the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_banded


class CommandLines(NamedTuple):
    """Commands of n joints in S steps of an integration.

    Attributes:
        value: At the beginning and the end of every step, linear in between, shape ``(S, 2, n)``.
        by_delay: Derivatives of these by the delay, shape ``(S, 2, n)``.
        by_filter: Derivatives by the time constant of the filter, shape ``(S, 2, n)``.
    """

    value: np.ndarray
    by_delay: np.ndarray
    by_filter: np.ndarray


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
        edges = _edges(start, step, count, delay)
        mean, lever = self._moments(edges, step)
        return _lines(mean, lever, self.values[self._rows(edges)], step)

    def filtered(self, time_constant: float) -> FilteredCommand:
        """What a filter of first order makes of the commands.

        Args:
            time_constant: Its time constant T in [s], above zero.
        """
        intervals = np.diff(self.t)
        left = np.exp(-intervals / time_constant)
        # Forward substitution: what is left of each output, and the command, give the next one.
        band = np.vstack([np.ones(len(self.t)), np.append(-left, 0.0)])
        given = self.values.copy()
        given[1:] = (1.0 - left)[:, None] * self.values[:-1]
        output = solve_banded((1, 0), band, given)
        given[0] = 0.0
        given[1:] = (left * intervals / time_constant**2)[:, None] * (
            output[:-1] - self.values[:-1])
        return FilteredCommand(self, time_constant, output, solve_banded((1, 0), band, given))

    def _moments(self, edges: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Means and first moments m and s of steps between edges, each of shape ``(S, n)``."""
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
        return mean, (np.diff(moment, axis=0) / step - middle * mean) / step


@dataclass(frozen=True, eq=False)
class FilteredCommand:
    """Commands that drives smooth by a filter of first order, at rest when the first one comes.

    Attributes:
        held: The commands.
        time_constant: That of the filter, T in [s].
        output: What the filter gives at the stamps of the commands, shape ``(K, n)``.
        by_filter: Derivatives of this by the time constant, shape ``(K, n)``.
    """

    held: HeldCommand
    time_constant: float
    output: np.ndarray
    by_filter: np.ndarray

    def at(self, t: np.ndarray) -> np.ndarray:
        """What the filter gives at times in [s], ``(T,)``: shape ``(T, n)``."""
        return self._output(t)[0]

    def lines(self, start: float, step: float, count: int, delay: float) -> CommandLines:
        """The commands as steps of an integration see them; see :meth:`HeldCommand.lines`."""
        edges, constant = _edges(start, step, count, delay), self.time_constant
        output, by_filter = self._output(edges)
        mean, lever = self.held._moments(edges, step)
        mean = mean - constant * np.diff(output, axis=0) / step
        off = _middles(output) - mean
        lever = lever - constant * off / step
        mean_by = -(np.diff(output, axis=0) + constant * np.diff(by_filter, axis=0)) / step
        lever_by = -(off + constant * (_middles(by_filter) - mean_by)) / step
        return _lines(mean, lever, output, step)._replace(by_filter=_ends(mean_by, lever_by))

    def _output(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the filter gives at times, and the derivative by its time constant."""
        held, constant = self.held, self.time_constant
        row = held._rows(t)
        since = np.maximum(t - held.t[row], 0.0)[:, None]
        left, command = np.exp(-since / constant), held.values[row]
        off = self.output[row] - command
        return command + off * left, left * (self.by_filter[row] + off * since / constant**2)


def _edges(start: float, step: float, count: int, delay: float) -> np.ndarray:
    """Beginnings and ends of steps on the clock of the commands, shape ``(S + 1,)``."""
    return start + step * np.arange(count + 1) - delay


def _lines(mean: np.ndarray, lever: np.ndarray, at_edges: np.ndarray, step: float) -> CommandLines:
    """Lines by means and first moments, each ``(S, n)``, and the signal at edges ``(S + 1, n)``."""
    mean_by = -np.diff(at_edges, axis=0) / step
    value = _ends(mean, lever)
    return CommandLines(
        value, _ends(mean_by, (mean - _middles(at_edges)) / step), np.zeros_like(value))


def _middles(at_edges: np.ndarray) -> np.ndarray:
    """Half of the sum at both ends of every step, shape ``(S, n)``."""
    return 0.5 * (at_edges[:-1] + at_edges[1:])


def _summed(parts: np.ndarray) -> np.ndarray:
    """Sums of all parts before each, one more than there are parts, shape ``(K, n)``."""
    return np.vstack([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)])


def _ends(mean: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """Both ends of the lines with these means and first moments, shape ``(S, 2, n)``."""
    return np.stack([mean - 6.0 * lever, mean + 6.0 * lever], axis=1)
