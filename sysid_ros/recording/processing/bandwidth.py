r"""Up to which frequency a recording tells accelerations, and torques are there.

Encoder noise is white: in positions its spectral density is a floor, above which the motion stands
at low frequencies. Differentiated twice, noise grows with the fourth power of the frequency.
Densities are those of second differences, divided by the squared gain of these differences, in a
window of low side lobes (Harris 1978): positions themselves fall so steeply with frequency that
side lobes would hide the floor.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.numerics.spectrum import welch
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.resolution import resolution

# Length of the pieces in [s] whose periodograms are averaged (Welch 1967), part of the longest
# segment that they may be, and their least number of samples.
_PIECE, _SHARE, _FEWEST = 4.0, 0.25, 64
# Part of the band, at its upper end, whose median density is the floor, and density above which
# there is motion, in floors; the second where the steps of an encoder make the floor.
_TOP, _ABOVE, _ABOVE_STEPS = 0.3, 4.0, 100.0
# Largest part of noise in accelerations: parameters are off by its square.
_NOISE = 0.03
# Part of a torque's power that its band holds.
_HELD = 0.999


def motion_bandwidth(dataset: Dataset) -> np.ndarray:
    """Frequency up to which noise is a small part of each joint's acceleration, in [Hz], ``(n,)``.

    Args:
        dataset: Positions, not filtered; a joint that did not move has next to nothing, one
            without noise half the sampling rate.
    """
    return np.array([
        _where_noise_counts(*_density_of_positions(dataset, joint), _steps(dataset, joint))
        for joint in range(dataset.q.shape[1])])


def torque_bandwidth(dataset: Dataset) -> np.ndarray:
    """Frequency that holds 99.9 % of each torque's power above its noise, in [Hz], ``(n,)``.

    Args:
        dataset: Torques, not filtered; one that is constant or only noise has zero.
    """
    bands = []
    for joint in range(dataset.tau.shape[1]):
        tau = np.where(dataset.mask[:, joint], dataset.tau[:, joint], 0.0)
        frequency, density = _density(dataset, tau)
        held = np.cumsum(np.maximum(density - 2.0 * _floor(density), 0.0))
        whole = held[-1]
        bands.append(
            float(frequency[np.searchsorted(held, _HELD * whole)]) if whole > 0.0 else 0.0)
    return np.array(bands)


def _density_of_positions(dataset: Dataset, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in [Hz] and spectral density of a joint's positions, from second differences."""
    frequency, density = _density(dataset, dataset.q[:, joint], differences=2)
    gain = (2.0 * np.sin(np.pi * frequency / dataset.rate)) ** 4
    return frequency, density / gain


def _density(
    dataset: Dataset, values: np.ndarray, differences: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Spectral density of a signal without its mean, averaged over all segments (Welch 1967)."""
    longest = max(stop - start for start, stop in dataset.segments) - differences
    length = min(round(_PIECE * dataset.rate), round(_SHARE * longest))
    length = min(max(length, _FEWEST), longest)
    total, weight = np.zeros(length // 2), 0
    for start, stop in dataset.segments:
        piece = np.diff(values[start:stop], differences)
        if len(piece) >= length:
            frequency, density = welch(piece, dataset.rate, length, 'blackmanharris')
            total += density[1:1 + length // 2] * len(piece)
            weight += len(piece)
    return frequency[1:1 + length // 2], total / weight


def _floor(density: np.ndarray) -> float:
    """Density of the noise: the median of the upper end of the band."""
    return float(np.median(density[-max(round(_TOP * len(density)), 1):]))


def _steps(dataset: Dataset, joint: int) -> float:
    """Spectral density of the rounding of a quantised encoder, were it white; zero for others.

    The error of coarse steps is no white noise: the upper end of the band hardly has any of it.
    """
    step = resolution(dataset.q[:, joint]) or 0.0
    return step**2 / 6.0 / dataset.rate


def _where_noise_counts(frequency: np.ndarray, density: np.ndarray, least: float) -> float:
    """Frequency below which noise has its part of the acceleration, in [Hz]; zero at standstill.

    Args:
        frequency: Frequencies in [Hz].
        density: Spectral density of the positions.
        least: What the noise's density is at least.
    """
    floor = max(_floor(density), least)
    # A tone is as wide as the window's main lobe; a single frequency is chance.
    smooth = np.median([density[:-2], density[1:-1], density[2:]], axis=0)
    # The steps of a coarse encoder are crossed at steady rates, which stand out of the noise, too.
    moves = np.pad(smooth > (_ABOVE if floor > least else _ABOVE_STEPS) * floor, 1)
    acceleration = np.sum((density - floor)[moves] * frequency[moves] ** 4)
    noise = np.cumsum(floor * frequency**4)
    told = np.flatnonzero(noise <= _NOISE**2 * acceleration)
    return float(frequency[told[-1]]) if moves.any() and len(told) else 0.0
