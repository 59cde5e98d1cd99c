r"""Whether a recorded motion repeats itself, and after how long.

The structure function :math:`D(l) = \mathrm{mean}_t \|q(t + l) - q(t)\|^2` of positions that were
brought to unit variance rises from zero to about two per joint, and falls to zero again at every
period of the motion (Kolmogorov 1941; in signal processing the squared difference function, de
Cheveigné and Kawahara 2002).
"""

from __future__ import annotations

import numpy as np

from sysid_ros.numerics.noise import products_by_lag, squared_spectrum

# Samples that are looked at, at most.
_SAMPLES = 4000
# The difference per joint, in parts of that of unrelated positions, above which the motion has gone
# elsewhere, and below which it is back.
_AWAY, _BACK = 0.5, 0.01
# Part of the recording that has to be there once more.
_TWICE = 1.0 / 3.0


def repetition(q: np.ndarray) -> int | None:
    """The number of samples after which the positions of all joints repeat themselves.

    Args:
        q: Positions at a constant rate, shape ``(T, n)``.

    Returns:
        The shortest period; None where nothing is repeated for a third of the recording.
    """
    step = -(-len(q) // _SAMPLES)
    x = q[::step]
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    if not x.size:
        return None
    difference = _structure_function(x)
    away = np.flatnonzero(difference > _AWAY)
    if not len(away):
        return None
    back = np.flatnonzero(difference[away[0]:] < _BACK)
    if not len(back):
        return None
    # The lowest point of the first valley.
    first = int(away[0] + back[0])
    rise = np.flatnonzero(difference[first:] >= _BACK)
    valley = difference[first:first + int(rise[0])] if len(rise) else difference[first:]
    return step * (first + int(np.argmin(valley)))


def _structure_function(x: np.ndarray) -> np.ndarray:
    """Mean squared difference by lag, in parts of that of unrelated samples, ``(L,)``."""
    samples, joints = x.shape
    lags = int((1.0 - _TWICE) * samples) + 1
    products = products_by_lag(squared_spectrum(x), lags)
    squares = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    lag = np.arange(lags)
    both = squares[samples - lag] + (squares[samples] - squares[lag])
    return (both - 2.0 * products) / (2.0 * joints * (samples - lag))
