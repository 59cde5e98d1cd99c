"""How a recording is filtered where its settings leave that open, told by the recording itself.

Regressor and torque are filtered where encoder noise begins to count in accelerations, and
positions, before they are differentiated, at three times that frequency. Torques that hold less
were filtered by their driver; the regressor is, too, then. Rows are as slow as their slowest
ingredient, so that friction where a joint turns round spoils none that are fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.bandwidth import motion_bandwidth, torque_bandwidth
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter

# Filters that say how motion is made of positions: who sets one of them sets all.
_MOTION = (
    'position_filter', 'differentiation', 'savitzky_golay', 'spline', 'velocity_filter',
    'differentiate_filtered', 'acceleration_filter', 'torque_filter')
_ROWS = ('parallel_filter',)
# Range of the rows' bandwidth in [Hz]: above, gears and links are no rigid bodies any more.
_LOWEST, _HIGHEST = 2.0, 20.0
# Cut-off of positions in bandwidths of the rows, and highest part of the sampling rate at which
# filtering is of use. Rows per second in bandwidths.
_WIDER, _USEFUL, _DENSE = 3.0, 0.4, 2.5
# Torques count as filtered by their driver where their band, times this, is below the motion's.
_TORQUE_BANDS = 3.0
# A joint whose motion tells accelerations up to less than this, in [Hz], tells none; and one that
# moves by so much, in [rad] or [m], should.
_TOLD, _MOVES = 1.0, 0.1
# Samples in a row that spectra need.
_FEWEST = 64


@dataclass(frozen=True)
class Choice:
    """One setting that was left open, and what the data say.

    Attributes:
        key: Where it stands in a settings file, as ``section.key``.
        value: What was chosen, as plain values.
        reason: Why, in words.
    """

    key: str
    value: Any
    reason: str


def open_filters(processing: Processing) -> bool:
    """Whether settings leave all filters open."""
    return not processing.model_fields_set & {*_MOTION, *_ROWS}


def choose_filters(
    dataset: Dataset, processing: Processing
) -> tuple[Processing, tuple[Choice, ...]]:
    """Filters of positions and rows, where the settings leave them open.

    Args:
        dataset: The recording as the settings say, without filters.
        processing: The settings.

    Returns:
        Settings with filters, and what was chosen; the settings as they are where they have
        filters, or where the recording is too short to tell.
    """
    longest = max(stop - start for start, stop in dataset.segments)
    if not open_filters(processing) or longest < _FEWEST:
        return processing, ()
    bands, torque = motion_bandwidth(dataset), _middle(torque_bandwidth(dataset))
    motion = _middle(np.where(bands < _TOLD, 0.0, bands))
    if not motion > 0.0:
        return processing, ()
    told = min(motion, _HIGHEST)
    reason = f'above {motion:.3g} Hz noise of the positions counts in accelerations'
    if motion > _HIGHEST:
        reason = (
            f'positions tell accelerations up to {motion:.3g} Hz; above {_HIGHEST:g} Hz no robot '
            'is rigid')
    if 0.0 < _TORQUE_BANDS * torque < told:
        told = _TORQUE_BANDS * torque
        reason = f'torques hold next to nothing above {torque:.3g} Hz'
    cutoff = _rounded(min(max(told, _LOWEST), 0.5 * _USEFUL * dataset.rate))
    chosen: dict[str, Any] = {'parallel_filter': ParallelFilter(
        cutoff=cutoff, decimate_to=min(_DENSE * cutoff, dataset.rate), row_speed='slowest')}
    if _WIDER * cutoff < _USEFUL * dataset.rate:
        chosen['position_filter'] = LowPass(cutoff=_WIDER * cutoff)
    return processing.model_copy(update=chosen), tuple(
        Choice(f'processing.{key}', value.model_dump(exclude_unset=True), reason)
        for key, value in sorted(chosen.items(), reverse=True))


def too_coarse(dataset: Dataset) -> tuple[str, ...]:
    """Joints that move, but whose accelerations drown in the noise or the steps of their encoder.

    Args:
        dataset: The recording without filters.
    """
    if max(stop - start for start, stop in dataset.segments) < _FEWEST:
        return ()
    drowned = (motion_bandwidth(dataset) < _TOLD) & (np.ptp(dataset.q, axis=0) > _MOVES)
    return tuple(name for name, is_so in zip(dataset.joint_names, drowned, strict=True) if is_so)


def without_filters(processing: Processing) -> Processing:
    """Settings that leave all filters open."""
    given = processing.model_fields_set - {*_MOTION, *_ROWS}
    return Processing(**{key: getattr(processing, key) for key in given})


def filled_from(processing: Processing, other: Processing) -> Processing:
    """Settings that take from others what they leave open.

    Args:
        processing: Settings of a recording.
        other: Settings of another recording of the same robot.

    Returns:
        Filters are taken together, as one without the others may not fit; stamps, trim, gaps and
        rates are each recording's own.
    """
    taken: Mapping[str, Any] = {}
    if open_filters(processing):
        taken = {key: getattr(other, key) for key in (*_MOTION, *_ROWS)
                 if key in other.model_fields_set}
    if 'torque_delay' in other.model_fields_set - processing.model_fields_set:
        taken = {**taken, 'torque_delay': other.torque_delay}
    return processing.model_copy(update=dict(taken))


def _middle(frequencies: np.ndarray) -> float:
    """The median of those above zero; zero where there is none."""
    some = frequencies[frequencies > 0.0]
    return float(np.median(some)) if len(some) else 0.0


def _rounded(value: float) -> float:
    """A number with two digits, for people to read."""
    return float(f'{value:.2g}')
