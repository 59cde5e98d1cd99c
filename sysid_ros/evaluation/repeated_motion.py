r"""Whether a motion that is judged by is one that was fitted, once more.

Pieces of the one are looked for along the other. The squared difference of a piece h of m samples
from what was fitted, f, at the lag l,

.. math:: D(l) = \sum_t \|h(t) - f(t + l)\|^2
    = \sum_t \|h(t)\|^2 + \sum_t \|f(t + l)\|^2 - 2 \sum_t h(t)^T f(t + l),

is next to nothing at the lag where it is the same motion. What is predicted of it shows how noise
repeats, and nothing of another motion.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.recording.dataset import Dataset

# A piece is this part of what was fitted, or of what is judged by; so many are looked for, along so
# many samples at most.
_OF_FITTED, _OF_JUDGED, _PIECES, _SAMPLES = 6, 2, 6, 6000
# Squared difference of a piece, in parts of its own spread, that is the same motion, and the part
# of the pieces that have to be there: the beginning or a pause may be new.
_SAME, _MOST = 0.01, 0.8
# A piece is a motion if it moves by this part of the spread of the whole.
_MOVES = 0.3


def is_repeated(judged: Dataset, fitted: Dataset) -> bool:
    """Whether most of a motion is found within another one of the same joints.

    Args:
        judged: The motion.
        fitted: Where it is looked for.
    """
    stride = -(-len(fitted) // _SAMPLES)
    along = fitted.q[::stride]
    spread = along.std(axis=0)
    moving = spread > 0.0
    if not moving.any():
        return False
    times = np.arange(judged.t[0], judged.t[-1], stride / fitted.rate)
    other = np.stack([
        np.interp(times, judged.t, column) for column in judged.q.T[moving]], axis=1)
    centre, spread = along[:, moving].mean(axis=0), spread[moving]
    along, other = (along[:, moving] - centre) / spread, (other - centre) / spread
    count = min(len(along) // _OF_FITTED, len(other) // _OF_JUDGED)
    starts = np.linspace(0, len(other) - count, _PIECES).astype(int)
    pieces = [other[start:start + count] for start in starts] if count > 1 else []
    there = [
        _least_difference(piece, along) < _SAME for piece in pieces
        if piece.std(axis=0).max() > _MOVES]
    return bool(there) and sum(there) >= _MOST * len(there)


def _least_difference(piece: np.ndarray, along: np.ndarray) -> float:
    """Squared difference of a piece from where it fits best, in parts of its spread."""
    squares = np.concatenate([[0.0], np.cumsum(np.sum(along**2, axis=1))])
    # By the fast Fourier transform: SciPy's signals take a third of a second to import.
    spectrum = np.fft.rfft(along, axis=0) * np.fft.rfft(piece, len(along), axis=0).conj()
    products = np.fft.irfft(spectrum, len(along), axis=0).sum(axis=1)[:len(along) - len(piece) + 1]
    difference = np.sum(piece**2) + squares[len(piece):] - squares[:-len(piece)] - 2.0 * products
    return float(difference.min() / np.sum((piece - piece.mean(axis=0)) ** 2))
