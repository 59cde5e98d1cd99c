"""The motion behind the rows of a problem, for estimators that need more than the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.signals import ParallelFilter


@dataclass(frozen=True, eq=False)
class Motion:
    """Where the rows of a problem came from.

    Attributes:
        dataset: Motion and torque before filtering.
        parallel_filter: Low-pass and decimation that made rows of them.
        commanded: Positions that the robot was commanded, in [rad] or [m], shape ``(T, n)`` at
            the samples of the dataset, where they were recorded.

    Raises:
        RecordingError: The commanded positions do not belong to the samples, or are not finite.
    """

    dataset: Dataset
    parallel_filter: ParallelFilter
    commanded: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.commanded is None:
            return
        if self.commanded.shape != self.dataset.q.shape or not np.isfinite(self.commanded).all():
            raise RecordingError(
                'the commanded positions do not fit the data', where=self.dataset.source,
                found=f'shape {self.commanded.shape}, '
                f'{int(np.sum(~np.isfinite(self.commanded)))} values that are not finite',
                allowed=f'shape {self.dataset.q.shape}, all finite',
                fix='Give them at the samples of the data, one column per joint',
            )

    def speeds(self) -> np.ndarray:
        """How fast each joint is in each row, as its filter says, shape ``(T', n)``."""
        data = self.dataset
        retained, _ = self.parallel_filter.retained_samples(data.rate, data.segments)
        return self.parallel_filter.speeds_at(data.v, data.rate, retained)
