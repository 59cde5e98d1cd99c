"""The YAML section that says how a recording becomes a Dataset."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.signals import LowPass, ParallelFilter
from sysid_ros.settings import StrictSettings


class Processing(StrictSettings):
    """The ``processing:`` section of a settings file.

    Attributes:
        stamps: ``measured`` trusts every stamp; ``uniform`` takes samples as
            evenly spaced between gaps, for stamps that only jitter on arrival.
        rate: Rate of the uniform clock in [Hz]; that of the positions where left out.
        trim: Time cut off at the beginning and at the end, in [s].
        max_gap: Longest step that may be interpolated, in periods of the channel.
        minimum_rate: Slower recordings are refused, in [Hz].
        median_window: Samples of a running median over positions, odd.
        position_filter: Low-pass over positions, before they are differentiated.
        differentiation: ``central`` (second order), ``central4`` (fourth order), or
            ``measured``: recorded velocities and accelerations are used, and what
            was not recorded is differentiated.
        velocity_filter: Low-pass over velocities, before they are differentiated.
        acceleration_filter: Low-pass over accelerations.
        frozen_after: Bit-identical positions for longer than this, in [s], are
            looked at as a stuck sensor.
        parallel_filter: Low-pass and decimation of regressor and torque.
        standstill_velocity: Slower joints count as standing still, in [rad/s] or [m/s].
    """

    stamps: Literal['measured', 'uniform'] = 'measured'
    rate: float | None = Field(default=None, gt=0)
    trim: tuple[float, float] = (0.0, 0.0)
    max_gap: float = Field(default=5.0, ge=1.5)
    minimum_rate: float | None = Field(default=None, gt=0)
    median_window: int | None = Field(default=None, ge=3)
    position_filter: LowPass | None = None
    differentiation: Literal['central', 'central4', 'measured'] = 'central'
    velocity_filter: LowPass | None = None
    acceleration_filter: LowPass | None = None
    frozen_after: float = Field(default=0.25, gt=0)
    parallel_filter: ParallelFilter = ParallelFilter()
    standstill_velocity: float = Field(default=0.01, ge=0)

    @model_validator(mode='after')
    def _check(self) -> Processing:
        if self.median_window is not None and self.median_window % 2 == 0:
            raise ConfigurationError(
                'the window of a running median is even', where='median_window',
                found=self.median_window, allowed='an odd number of samples',
            )
        if min(self.trim) < 0:
            raise ConfigurationError(
                'cannot trim a negative time', where='trim', found=self.trim, allowed='from 0 s'
            )
        return self

    def edge(self, rate: float) -> int:
        """Samples at either end of a segment that still feel its end.

        Args:
            rate: Sampling rate in [Hz].
        """
        filters = (self.position_filter, self.velocity_filter, self.acceleration_filter)
        lengths = [low_pass.half_length(rate) for low_pass in filters if low_pass is not None]
        return sum(lengths) + (self.median_window or 0) // 2

    def needed(self, rate: float) -> int:
        """Fewest samples of a segment that is of use.

        That is three times the filters' edges, and enough that a row is left
        after the parallel filter has cut its own.

        Args:
            rate: Sampling rate in [Hz].
        """
        edge = self.edge(rate)
        return max(3 * edge, 2 * (edge + self.parallel_filter.trimmed(rate)) + 1, 8)
