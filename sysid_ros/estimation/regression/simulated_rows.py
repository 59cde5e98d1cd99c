"""Rows of a simulated robot that does what the recorded one was meant to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.rows import MemoryStore, RowBuilder
from sysid_ros.mechanics.tracking import TrackingRobot
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass

# The reference keeps this many times the frequency that bounds most of the velocity's power,
# and no more than this part of the sampling rate.
_POWER = 0.99
_BAND = 3.0
_HIGHEST = 0.2
# The loop is this many times faster than the reference, and no faster than this part of the
# rate at which it is integrated: that of the samples or, where they are closer than needed, less.
_LOOP = 5.0
_FASTEST = 0.05


@dataclass(frozen=True, eq=False)
class SimulatedRows:
    """Rows of a robot that tracks a smooth reference.

    Attributes:
        problem: The problem whose motion it repeats, without rows of segments that are too
            short to be smoothed.
        cutoff: Cut-off of the low-pass that smoothed the reference in [Hz].
        segments: Segments of the dataset that are simulated.
        q: Reference positions in [rad] or [m], shape ``(T, n)``.
        v: Their velocities.
        a: Their accelerations.
    """

    problem: RegressionProblem
    cutoff: float
    segments: tuple[tuple[int, int], ...]
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @classmethod
    def of(cls, problem: RegressionProblem, cutoff: float | None) -> SimulatedRows:
        """Prepare the reference of a problem.

        Args:
            problem: A problem with its motion.
            cutoff: Cut-off of the reference in [Hz]; by default from the motion's band.

        Raises:
            EstimationError: The problem has no motion, or no segment is long enough.
        """
        motion = _motion(problem)
        data = motion.dataset
        cutoff = motion_band(data) if cutoff is None else cutoff
        low_pass = LowPass(cutoff=cutoff)
        longer = low_pass.half_length(data.rate)
        segments = tuple((i, j) for i, j in data.segments if j - i > longer)
        if not segments:
            longest = max(j - i for i, j in data.segments)
            raise EstimationError(
                'no segment is long enough to smooth its motion', where=data.source,
                found=f'{longest / data.rate:.3g} s',
                allowed=f'more than {longer / data.rate:.3g} s',
                fix='Record longer without gaps, or raise reference_cutoff',
            )
        measured = data.q if motion.commanded is None else motion.commanded
        q, v, a = (np.zeros(data.q.shape) for _ in range(3))
        covered = np.zeros(data.q.shape, dtype=bool)
        for start, stop in segments:
            part = slice(start, stop)
            covered[part] = True
            q[part] = low_pass.apply(measured[part], data.rate)
            v[part] = np.gradient(q[part], 1.0 / data.rate, axis=0)
            a[part] = np.gradient(v[part], 1.0 / data.rate, axis=0)
        if not covered.all():
            rows = motion.parallel_filter.apply_mask(covered, data.rate, data.segments)
            problem = problem.restricted(rows[:, 0])
        return cls(problem, cutoff, segments, q, v, a)

    def regressor(self, values: np.ndarray) -> np.ndarray:
        """Rows of the robot's regressor along its simulated motion, shape ``(T', n, p)``.

        Args:
            values: Parameters of the simulated robot, shape ``(p,)``; its controller knows the
                prior.

        Raises:
            ModelError: With these parameters the robot cannot be simulated.
        """
        motion, model = _motion(self.problem), self.problem.model
        data = motion.dataset
        bandwidth = min(_LOOP * self.cutoff, _FASTEST * data.rate)
        robot = TrackingRobot(model, values, self.problem.reference, bandwidth)
        q, v, a = self._tracked(robot, data.rate)
        rows = RowBuilder(
            model, motion.parallel_filter, 0.0, MemoryStore(self.problem.regressor.shape))
        rows.add(replace(data, q=q, v=v, a=a))
        return rows.finish()[0]

    def _tracked(self, robot: TrackingRobot, rate: float) -> np.ndarray:
        """Simulated positions, velocities and accelerations, shape ``(3, T, n)``."""
        # Integrated no more often than the loop needs; what lies between is smooth.
        stride = max(int(_FASTEST * rate / robot.bandwidth), 1)
        samples = [np.arange(start, stop, stride) for start, stop in self.segments]
        edges = np.cumsum([0, *map(len, samples)])
        parts = list(zip(edges[:-1], edges[1:], strict=True))
        chosen = np.concatenate(samples)
        coarse = np.array(robot.track(
            self.q[chosen], self.v[chosen], self.a[chosen], rate / stride, parts))
        if stride == 1 and len(chosen) == len(self.q):
            return coarse
        from scipy.interpolate import CubicSpline  # slow to import, and not always needed

        motion = np.zeros((3, *self.q.shape))
        for (start, stop), (first, last), at in zip(self.segments, parts, samples, strict=True):
            between = CubicSpline(at, coarse[:, first:last], axis=1)
            motion[:, start:stop] = between(np.arange(start, stop))
        return motion


def _motion(problem: RegressionProblem) -> Motion:
    if problem.motion is None:
        raise EstimationError(
            'the motion behind the rows is needed to simulate it',
            where=problem.provenance.get('source'), found='rows alone',
            fix='Build the problem from a dataset that fits into memory, or use another estimator',
        )
    return problem.motion


def motion_band(data: Dataset) -> float:
    """A cut-off in [Hz] that keeps a motion and little of its noise.

    Three times the frequency below which 99 % of the velocity's power lies, as the median over
    the joints that move at all.

    Args:
        data: The recording; its longest segment is looked at.
    """
    start, stop = max(data.segments, key=lambda segment: segment[1] - segment[0])
    # Without a window the ends of the segment would leak into all frequencies.
    window = np.hanning(stop - start + 2)[1:-1, None]
    power = np.abs(np.fft.rfft(window * data.v[start:stop], axis=0)) ** 2
    frequency = np.fft.rfftfreq(stop - start, 1.0 / data.rate)
    moving = power.sum(axis=0) > 0.0
    if not moving.any():
        return _HIGHEST * data.rate
    share = np.cumsum(power[:, moving], axis=0) / power[:, moving].sum(axis=0)
    edge = frequency[np.argmax(share >= _POWER, axis=0)]
    lowest = data.rate / (stop - start)
    return float(min(_BAND * max(np.median(edge), lowest), _HIGHEST * data.rate))
