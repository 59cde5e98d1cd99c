r"""Digital Butterworth low-passes in closed form.

The analogue prototype of order n has its poles evenly on a half circle; the bilinear transform
:math:`s = (z - 1) / (z + 1)` with :math:`w = \tan(\pi f_c / f_s)` for the cut-off takes them to
the z plane. ``scipy.signal.butter`` gives the same filters as second-order sections, and
``sosfiltfilt`` the same signals, in about the same time; but to import SciPy's signal package takes
longer than to read and filter a minute of a recording, and every fit would pay for it.

References:
    Oppenheim and Schafer 2010, sections 7.2 and 7.3.
"""

from __future__ import annotations

import numpy as np


def _analogue_poles(order: int, cutoff: float, rate: float) -> np.ndarray:
    """Poles in the upper half plane, the real one among them, slowest last."""
    count = (order + 1) // 2
    angle = np.pi * (0.5 + (2 * np.arange(count)[::-1] + 1) / (2 * order))
    poles = np.tan(np.pi * cutoff / rate) * np.exp(1j * angle)
    if order % 2:
        poles[0] = poles[0].real
    return poles


def slowest_pole(order: int, cutoff: float, rate: float) -> float:
    """Factor by which the slowest mode decays from sample to sample.

    Args:
        order: Order of the filter.
        cutoff: Cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].
    """
    pole = _analogue_poles(order, cutoff, rate)[-1]
    return float(np.abs((1 + pole) / (1 - pole)))


def sections(order: int, cutoff: float, rate: float) -> np.ndarray:
    """The filter as second-order sections, each of which keeps a constant as it is.

    Args:
        order: Order of the filter.
        cutoff: Cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].

    Returns:
        Numerators and denominators, shape ``(S, 6)``, leading denominators one; the section
        with the slowest poles is last.
    """
    analogue = _analogue_poles(order, cutoff, rate)
    digital = (1 + analogue) / (1 - analogue)
    table = np.zeros((len(digital), 6))
    table[:, 3] = 1.0
    table[:, 4], table[:, 5] = -2 * digital.real, np.abs(digital) ** 2
    # 1 - z = -2 s / (1 - s): the difference itself would lose digits at low cut-offs.
    gain = np.abs(analogue / (1 - analogue)) ** 2
    table[:, :3] = gain[:, None] * [1.0, 2.0, 1.0]
    if order % 2:
        real = float((-analogue[0] / (1 - analogue[0])).real)
        table[0] = [real, real, 0.0, 1.0, -digital[0].real, 0.0]
    return table


def steady_state(table: np.ndarray) -> np.ndarray:
    """States in which sections answer a lasting one with a lasting one.

    Args:
        table: Sections of :func:`sections`, shape ``(S, 6)``.

    Returns:
        States of the transposed direct form II, shape ``(S, 2)``.
    """
    return np.stack([1.0 - table[:, 0], table[:, 2] - table[:, 5]], axis=1)


def zero_phase_response(order: int, cutoff: float, rate: float, length: int) -> np.ndarray:
    r"""Impulse response of the filter run forwards and backwards.

    It is the inverse Fourier transform of the squared gain
    :math:`1 / (1 + (\tan(\omega / 2) / w)^{2 n})`.

    Args:
        order: Order of the filter that is run each way.
        cutoff: Its cut-off frequency (-3 dB) in [Hz], below half the rate.
        rate: Sampling rate in [Hz].
        length: Samples after which nothing is left of the response.

    Returns:
        The right half, peak first, shape ``(length,)``.
    """
    half = np.linspace(0.0, np.pi / 2, length + 1)
    with np.errstate(over='ignore'):  # beyond every number the gain is zero
        gain = 1.0 / (1.0 + (np.tan(half) / np.tan(np.pi * cutoff / rate)) ** (2 * order))
    return np.fft.irfft(gain)[:length]
