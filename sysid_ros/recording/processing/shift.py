"""Samples between samples: uniformly sampled signals moved by a fraction of a period."""

from __future__ import annotations

import numpy as np

# Samples of the interpolation kernel on either side, and the shape of its window: below 0.4 of
# the sampling rate the interpolated signal is right to 1e-4.
HALF_WIDTH = 16
_BETA = 6.0

# Kernel weights below this fraction of the largest are no reason to mask a sample.
_NEGLIGIBLE = 0.05


def shift_kernel(fraction: float) -> np.ndarray:
    """Weights that give a band-limited signal between two of its samples.

    A sinc in a Kaiser window; the weights sum to one, so that constants stay what they are.

    Args:
        fraction: Where to look after a sample, in periods, from 0 to below 1.

    Returns:
        Weights of the samples from ``1 - HALF_WIDTH`` to ``HALF_WIDTH`` around it.
    """
    offset = np.arange(1 - HALF_WIDTH, HALF_WIDTH + 1) - fraction
    window = np.i0(_BETA * np.sqrt(np.clip(1.0 - (offset / HALF_WIDTH) ** 2, 0.0, None)))
    weights = np.sinc(offset) * window
    return weights / weights.sum()


def sampled_at(values: np.ndarray, index: np.ndarray, lag: float) -> np.ndarray:
    """Values of a signal at some of its samples, moved on by a lag.

    Args:
        values: Uniform samples, shape ``(T, ...)``.
        index: Samples to start from, shape ``(K,)``; the kernel must stay inside the signal:
            ``HALF_WIDTH - 1 <= index + floor(lag)`` and ``index + lag + HALF_WIDTH < T``.
        lag: Distance in periods, of either sign.

    Returns:
        The signal at ``index + lag``, shape ``(K, ...)``.
    """
    whole = int(np.floor(lag))
    if lag == whole:
        return values[index + whole]
    weights = shift_kernel(lag - whole)
    moved = np.zeros((len(index), *values.shape[1:]))
    for weight, step in zip(weights, range(1 - HALF_WIDTH, HALF_WIDTH + 1), strict=True):
        moved += weight * values[index + (whole + step)]
    return moved


def shifted(values: np.ndarray, mask: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """A gap-free signal at ``k + fraction`` for every sample k, and where it can be trusted.

    Beyond its ends the signal is taken to go on as it came; samples that lean on that, or on
    a masked sample, are masked.

    Args:
        values: Uniform samples, shape ``(T,)``.
        mask: True where a sample is usable, shape ``(T,)``.
        fraction: Distance in periods, from -1/2 to 1/2.

    Returns:
        Moved signal and mask, shape ``(T,)`` each.
    """
    if fraction == 0.0:
        return values, mask
    padded = np.pad(values, HALF_WIDTH + 1, mode='reflect', reflect_type='odd')
    index = np.arange(HALF_WIDTH + 1, HALF_WIDTH + 1 + len(values))
    weights = np.abs(shift_kernel(fraction % 1.0))
    steps = np.flatnonzero(weights > _NEGLIGIBLE * weights.max()) + 1 - HALF_WIDTH
    usable = np.pad(mask, HALF_WIDTH + 1, constant_values=False)
    whole = int(np.floor(fraction))
    good = np.all([usable[index + whole + step] for step in steps], axis=0)
    return sampled_at(padded, index, fraction), good
