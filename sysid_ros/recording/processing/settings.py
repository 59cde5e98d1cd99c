"""The YAML section that says how a recording becomes a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.recording.processing.differentiation import SavitzkyGolay, Spline
from sysid_ros.recording.processing.low_pass import NOTHING, LowPass
from sysid_ros.recording.processing.shift import HALF_WIDTH
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.settings import StrictSettings


class Processing(StrictSettings):
    """The ``processing:`` section of a settings file.

    Attributes:
        stamps: ``measured`` trusts every stamp; ``uniform`` takes samples as
            evenly spaced between gaps, for stamps that only jitter on arrival.
        rate: Rate of the uniform clock in [Hz]; that of the positions where left out.
        trim: Time cut off at the beginning and at the end, in [s].
        leave_out: Stretches in which torques do not count, each from and to so many [s] of the
            recording: a knock, a hand on the robot, a stop.
        max_gap: Longest step that may be interpolated, in periods of the channel.
        minimum_rate: Slower recordings are refused, in [Hz].
        median_window: Samples of a running median over positions, odd.
        position_filter: Low-pass over positions, before they are differentiated.
        differentiation: ``central`` (second order), ``central4`` (fourth order),
            ``savitzky_golay`` (local polynomials), ``spline`` (one least-squares B-spline),
            or ``measured``: recorded velocities and accelerations are used, and what
            was not recorded is differentiated (``measured4``: to fourth order). Local
            polynomials and splines smooth the positions too, so that all three stay
            derivatives of each other.
        savitzky_golay: Window and order of the local polynomials.
        spline: Knots and degree of the spline.
        velocity_filter: Low-pass over velocities.
        differentiate_filtered: Whether accelerations are derivatives of the filtered velocities;
            otherwise of those before the filter, and every signal has its own filter alone.
        acceleration_filter: Low-pass over accelerations.
        torque_filter: Low-pass over torques alone. What it takes from them and the filters of
            the motion leave in the regressor is bias: ``parallel_filter`` takes the same from both.
        frozen_after: Bit-identical positions for longer than this, in [s], are
            looked at as a stuck sensor.
        torque_delay: By how much torques arrive later than positions, in [s]: one number,
            one per joint, or by joint with 0 for the others. Torques are moved back by it.
        mask_saturation: Whether torques at the drive's limit are masked.
        effort_check: What becomes of a torque of the wrong sign: ``refuse`` or ``warn``.
        unit_check: What becomes of positions or stamps that look like another unit: ``refuse`` or
            ``warn``.
        parallel_filter: Low-pass and decimation of regressor and torque.
        standstill_velocity: Slower joints count as standing still, in [rad/s] or [m/s].
    """

    stamps: Literal['measured', 'uniform'] = 'measured'
    rate: float | None = Field(default=None, gt=0)
    trim: tuple[float, float] = (0.0, 0.0)
    leave_out: tuple[tuple[float, float], ...] = ()
    max_gap: float = Field(default=5.0, ge=1.5)
    minimum_rate: float | None = Field(default=None, gt=0)
    median_window: int | None = Field(default=None, ge=3)
    position_filter: LowPass | None = None
    differentiation: Literal[
        'central', 'central4', 'savitzky_golay', 'spline', 'measured', 'measured4'
    ] = 'central'
    savitzky_golay: SavitzkyGolay | None = None
    spline: Spline | None = None
    velocity_filter: LowPass | None = None
    differentiate_filtered: bool = True
    acceleration_filter: LowPass | None = None
    torque_filter: LowPass | None = None
    frozen_after: float = Field(default=0.25, gt=0)
    torque_delay: float | tuple[float, ...] | dict[str, float] = 0.0
    mask_saturation: bool = True
    effort_check: Literal['refuse', 'warn'] = 'refuse'
    unit_check: Literal['refuse', 'warn'] = 'refuse'
    parallel_filter: ParallelFilter = ParallelFilter()
    standstill_velocity: float = Field(default=0.01, ge=0)

    @model_validator(mode='after')
    def _check(self) -> Processing:
        if self.median_window is not None and self.median_window % 2 == 0:
            raise ConfigurationError(
                'the window of a running median is even', where='median_window',
                found=self.median_window, allowed='an odd number of samples',
                fix='Write processing: {median_window: 5}',
            )
        if min(self.trim) < 0:
            raise ConfigurationError(
                'cannot trim a negative time', where='trim', found=self.trim, allowed='from 0 s',
                fix='Write processing: {trim: [1.0, 0.5]}, seconds of the beginning and of the '
                    'end',
            )
        backwards = [list(one) for one in self.leave_out if not one[0] < one[1]]
        if backwards:
            raise ConfigurationError(
                'a stretch ends before it begins', where='leave_out', found=backwards[0],
                allowed='beginning and end in [s] of the recording',
                fix='Write processing: {leave_out: [[4.5, 5.2]]}')
        self._check_methods()
        self._check_bandwidth()
        return self

    def _check_methods(self) -> None:
        for method in ('savitzky_golay', 'spline'):
            if getattr(self, method) is not None and self.differentiation != method:
                raise ConfigurationError(
                    f'{method!r} means nothing here', where='differentiation',
                    found=repr(self.differentiation), allowed=repr(method),
                    fix=f'Set differentiation: {method}, or remove {method}',
                )
        if self.smoother is not None and self.velocity_filter is not None:
            raise ConfigurationError(
                'velocities are not differentiated, so there is nothing to filter before it',
                where='velocity_filter', found=f'differentiation: {self.differentiation}',
                fix='Remove velocity_filter and smooth by the settings of the differentiation',
            )

    def _check_bandwidth(self) -> None:
        bandwidth = self.parallel_filter.bandwidth
        if bandwidth is None:
            return
        # Derivatives hold what was left of what they are derivatives of.
        velocity = (self.position_filter, self.velocity_filter)
        passed_on = velocity if self.differentiate_filtered else velocity[:1]
        for name, filters in (
            ('velocity_filter', velocity),
            ('acceleration_filter', (*passed_on, self.acceleration_filter)),
            ('torque_filter', (self.torque_filter,)),
        ):
            cutoffs = [low_pass.cutoff for low_pass in filters if low_pass is not None]
            if min(cutoffs, default=np.inf) > bandwidth:
                raise ConfigurationError(
                    'a signal may hold more than its rows can', where=name,
                    found=f'{min(cutoffs):g} Hz' if cutoffs else 'no filter',
                    allowed=f'at most {bandwidth:g} Hz (parallel_filter.bandwidth)',
                    fix='Lower its cut-off, or raise bandwidth and decimate_to',
                )

    @property
    def smoother(self) -> SavitzkyGolay | Spline | None:
        """The local polynomials or the spline; None for differences and measurements."""
        if self.differentiation == 'savitzky_golay':
            return self.savitzky_golay or SavitzkyGolay()
        if self.differentiation == 'spline':
            return self.spline or Spline()
        return None

    @property
    def accuracy(self) -> int:
        """Order of accuracy of central differences."""
        return 4 if self.differentiation in ('central4', 'measured4') else 2

    def delays(self, joint_names: Sequence[str]) -> np.ndarray:
        """The torque delay of each joint in [s], shape ``(n,)``.

        Args:
            joint_names: Joints, in the order wanted.

        Raises:
            ConfigurationError: A joint is not one of these, or a list has another length.
        """
        delay = self.torque_delay
        if isinstance(delay, Mapping):
            unknown = [name for name in delay if name not in joint_names]
            if unknown:
                raise ConfigurationError(
                    f'there is no joint {unknown[0]!r}', where='processing.torque_delay',
                    allowed=', '.join(joint_names), fix=did_you_mean(unknown[0], joint_names),
                )
            return np.array([delay.get(name, 0.0) for name in joint_names])
        values = np.atleast_1d(np.asarray(delay, dtype=float))
        if values.shape not in ((1,), (len(joint_names),)):
            raise ConfigurationError(
                'a per-joint list has the wrong length', where='processing.torque_delay',
                found=f'{len(values)} values', allowed=f'1 or {len(joint_names)} values',
                fix='Write one value for all, as processing: {torque_delay: 0.002}',
            )
        return np.broadcast_to(values, (len(joint_names),))

    def edge(self, rate: float) -> int:
        """Samples at either end of a segment that still feel its end.

        Args:
            rate: Sampling rate in [Hz].
        """
        filters = (self.position_filter, self.velocity_filter, self.acceleration_filter)
        lengths = [low_pass.half_length(rate) for low_pass in filters if low_pass is not None]
        if isinstance(self.smoother, SavitzkyGolay):
            lengths.append(self.smoother.half_window(rate))
        elif isinstance(self.smoother, Spline):
            lengths.append(self.smoother.edge(rate))
        torque = 0 if self.torque_filter is None else self.torque_filter.half_length(rate)
        return max(sum(lengths) + (self.median_window or 0) // 2, torque)

    def overlap(self, rate: float) -> float:
        """Time in [s] by which parts of a recording must overlap to be as if it were whole.

        Farther than this from where a recording was cut, what is filtered and differentiated
        is the same to rounding, and no stretch is taken for too short. Only a fitted spline,
        whose knots divide a segment evenly, keeps a trace of the cut.

        Args:
            rate: Sampling rate in [Hz].
        """
        short = self.needed(rate) - self._filtered(rate, NOTHING)
        return self.reach(rate, NOTHING) + max(short, 0) / rate

    def reach(self, rate: float, left: float) -> float:
        """Time in [s] over which a sample takes part in what is made of others.

        Args:
            rate: Sampling rate in [Hz].
            left: What counts as nothing, in parts of the slowest mode of a filter.
        """
        delay = self.torque_delay
        delays = delay.values() if isinstance(delay, Mapping) else np.atleast_1d(delay)
        samples = self._filtered(rate, left) + 2 * self.accuracy + self.max_gap + 2 * HALF_WIDTH
        return samples / rate + self.frozen_after + max(map(abs, delays), default=0.0)

    def _filtered(self, rate: float, left: float) -> int:
        """Samples on either side that filters and derivatives take part of."""
        filters = (self.position_filter, self.velocity_filter, self.acceleration_filter)
        memory = sum(low_pass.memory(rate, left) for low_pass in filters if low_pass is not None)
        if self.torque_filter is not None:
            memory = max(memory, self.torque_filter.memory(rate, left))
        return memory + 2 * self.edge(rate)

    def needed(self, rate: float) -> int:
        """Fewest samples of a segment that is of use.

        That is three times the filters' edges, and enough that a row is left
        after the parallel filter has cut its own.

        Args:
            rate: Sampling rate in [Hz].
        """
        edge = self.edge(rate)
        return max(3 * edge, 2 * (edge + self.parallel_filter.trimmed(rate)) + 1, 8)
