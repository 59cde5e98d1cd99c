"""What samples tell of their sensor by themselves: its resolution, and its noise."""

from __future__ import annotations

import numpy as np

# A resolution is believed when the steps between samples, up to so many times the smallest, are
# whole multiples of it to this part. A continuous signal has a smallest step, too, but among so
# many small steps some are no multiples.
_MULTIPLES, _WHOLE, _ENOUGH = 5.0, 0.1, 20


def resolution(values: np.ndarray) -> float | None:
    """The step of a quantised signal.

    Args:
        values: Samples as recorded, shape ``(T,)``.

    Returns:
        The step that all differences between samples are whole multiples of, or None when
        there is no such step that would show.
    """
    steps = np.abs(np.diff(values))
    span = float(np.ptp(values))
    steps = steps[steps > 1e-9 * span]
    if not len(steps):
        return None
    # The mean of the smallest steps is free of rounding.
    step = float(steps[steps < 1.5 * steps.min()].mean())
    ratio = steps[steps < (_MULTIPLES + 0.5) * step] / step
    quantised = np.abs(ratio - np.rint(ratio)).max() < _WHOLE
    return step if quantised and len(ratio) >= _ENOUGH else None


def sample_noise(values: np.ndarray) -> float:
    """Standard deviation of what does not go on from sample to sample.

    Args:
        values: Evenly spaced samples, shape ``(T,)``.

    Returns:
        The same unit; 0 where there are fewer than four samples.
    """
    if len(values) < 4:
        return 0.0
    # Third differences leave white noise 20 times in variance and nearly nothing of motion; the
    # median does not see the jumps of dry friction.
    third = np.diff(values, 3)
    return float(np.median(np.abs(third)) / 0.6745 / np.sqrt(20.0))
