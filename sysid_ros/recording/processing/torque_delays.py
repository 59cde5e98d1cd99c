"""By how much torques arrive later than positions, and whether that matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.recording.recording import frozen_array

# A delay matters from so many standard deviations, so many samples, and so much of the error on.
_SIGNIFICANT, _NOTABLE, _WORTH = 3.0, 0.1, 0.02
# Noise alone has a best lag, too, and a sharp one. Of the some eight lags that are independent of
# each other the best has a likelihood ratio above this once in some three hundred times.
_BEYOND_CHANCE = _SIGNIFICANT**2 + 4.0
# A delay of the torques is one of the driver where this part of the joints that tell agree on it,
# to this part of it or so many samples, and gain at least this part of their error by its removal.
_AGREE, _ALIKE, _ALIKE_SAMPLES, _GAIN = 0.5, 0.25, 0.5, 0.1


@dataclass(frozen=True, eq=False)
class TorqueDelays:
    """By how much the torque of each joint arrives later than its position.

    Attributes:
        joint_names: The n joints.
        seconds: Delays in [s], shape ``(n,)``; 0 where the data does not tell.
        deviation: Standard deviations in [s], shape ``(n,)``; infinite where it does not.
        gain: By which part the error of the best fit falls when the torque is moved back,
            shape ``(n,)``.
        ratio: Likelihood ratio against no delay, shape ``(n,)``.
        rate: Sampling rate of the data in [Hz].

    The deviations count random errors. Friction that lags behind the velocity looks like a
    delay, too: a delay of a real robot is credible when its joints agree on it.
    """

    joint_names: tuple[str, ...]
    seconds: np.ndarray
    deviation: np.ndarray
    gain: np.ndarray
    ratio: np.ndarray
    rate: float

    def __post_init__(self) -> None:
        for name in ('seconds', 'deviation', 'gain', 'ratio'):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @property
    def samples(self) -> np.ndarray:
        """Delays in sampling periods, shape ``(n,)``."""
        return self.seconds * self.rate

    @property
    def known(self) -> np.ndarray:
        """Joints whose delay the data tells, shape ``(n,)``."""
        return np.isfinite(self.deviation)

    @property
    def significant(self) -> np.ndarray:
        """Joints whose delay is beyond doubt and worth correcting, shape ``(n,)``."""
        certain = np.abs(self.seconds) > _SIGNIFICANT * self.deviation
        certain &= self.ratio > _BEYOND_CHANCE
        notable = (np.abs(self.samples) > _NOTABLE) & (self.gain > _WORTH)
        return self.known & certain & notable

    @property
    def shared(self) -> float | None:
        """Delay in [s] that most joints agree on, as a driver makes it; None where there is none.

        Friction of a joint or two lags by itself.
        """
        telling = self.known & (self.gain >= _GAIN)
        if not telling.any():
            return None
        middle = float(np.median(self.seconds[telling]))
        near = np.abs(self.seconds - middle) <= max(
            _ALIKE * abs(middle), _ALIKE_SAMPLES / self.rate)
        agreeing = (telling & near & self.significant).sum()
        return middle if agreeing > _AGREE * self.known.sum() else None

    def setting(self) -> dict[str, float]:
        """Value of ``processing.torque_delay`` in [s]; empty when there is no delay."""
        return {
            name: round(float(self.seconds[joint]), 7)
            for joint, name in enumerate(self.joint_names) if self.significant[joint]
        }

    def sentences(self) -> tuple[str, ...]:
        """The delays in words, one sentence per joint."""
        return tuple(self._sentence(joint) for joint in range(len(self.joint_names)))

    def _sentence(self, joint: int) -> str:
        name = self.joint_names[joint]
        if not self.known[joint]:
            return f'{name}: this motion does not tell the delay of the torque'
        size = (
            f'{1e3 * abs(self.seconds[joint]):.3g} ± {1e3 * self.deviation[joint]:.2g} ms '
            f'({abs(self.samples[joint]):.3g} samples)'
        )
        if not self.significant[joint]:
            return f'{name}: no delay between torque and motion that matters, {size}'
        way = 'later' if self.seconds[joint] > 0 else 'earlier'
        return (
            f'{name}: the torque arrives {size} {way} than the motion; moved back, it leaves '
            f'{100 * self.gain[joint]:.2g} % less error'
        )
