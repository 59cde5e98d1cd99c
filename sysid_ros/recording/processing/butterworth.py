"""Digital Butterworth low-passes by SciPy, as second-order sections.

SciPy's signal package is imported when a filter is designed: it takes a third of a second.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def sections(order: int, cutoff: float, rate: float) -> np.ndarray:
    """The filter as second-order sections, as ``scipy.signal.butter`` gives them.

    Args:
        order: Order of the filter.
        cutoff: Cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].

    Returns:
        Numerators and denominators, shape ``(S, 6)``, leading denominators one.
    """
    # SciPy's filters want arrays that can be written.
    return _sections(order, cutoff, rate).copy()


def slowest_pole(order: int, cutoff: float, rate: float) -> float:
    """Factor by which the slowest mode decays from sample to sample.

    Args:
        order: Order of the filter.
        cutoff: Cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].
    """
    from scipy.signal import butter  # noqa: PLC0415 (see above)

    return float(np.abs(butter(order, cutoff, fs=rate, output='zpk')[1]).max())


def zero_phase_response(order: int, cutoff: float, rate: float, length: int) -> np.ndarray:
    """Impulse response of the filter run forwards and backwards.

    Args:
        order: Order of the filter that is run each way.
        cutoff: Its cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].
        length: Samples after which nothing is left of the response.

    Returns:
        The right half, peak first, shape ``(length,)``.
    """
    from scipy.signal import sosfiltfilt  # noqa: PLC0415 (see above)

    impulse = np.zeros(2 * length)
    impulse[length] = 1.0
    return np.asarray(sosfiltfilt(sections(order, cutoff, rate), impulse, padlen=0)[length:])


@lru_cache(maxsize=64)
def _sections(order: int, cutoff: float, rate: float) -> np.ndarray:
    """The table of :func:`sections`: to design it takes as long as to filter 5000 samples."""
    from scipy.signal import butter  # noqa: PLC0415 (see above)

    return np.asarray(butter(order, cutoff, fs=rate, output='sos'))
