"""Preview of a motion: how much of the limits it uses, its spectrum, and what it tells when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.report.joint_strips import CANDIDATE, ERROR, PRIOR

# Of a band of the plan, in parts of the peak of the spectrum, that is worth showing.
_FLOOR = 1e-4


def excitation_figure(
    path: str | Path, limits: MotionLimits, motion: Motion, torque: np.ndarray,
    deviations: tuple[np.ndarray, np.ndarray], *, title: str,
) -> None:
    """Draw a motion against its limits.

    Args:
        path: PNG file to write.
        limits: The robot's limits, without margins.
        motion: The motion, T samples.
        torque: Predicted torques in [N·m] or [N], shape ``(T, n)``.
        deviations: Times in [s], shape ``(S,)``, and by then the expected standard
            deviations of the base parameters in parts of their usual changes, ``(S, r)``.
        title: Of the figure.
    """
    figure = Figure(figsize=(11.0, 11.0), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(6, 1, height_ratios=(3, 3, 3, 3, 3, 3))
    bounded = np.isfinite(limits.upper - limits.lower)
    shares = {
        'position': (motion.q - limits.centre) / np.where(bounded, limits.reach, np.inf),
        'velocity': motion.v / limits.velocity,
        'acceleration': motion.a / limits.acceleration,
        'torque': torque / limits.effort,
    }
    for (name, share), axis in zip(shares.items(), axes, strict=False):
        axis.axhspan(-100.0, 100.0, color='0.95', zorder=0)
        axis.plot(motion.t, 100.0 * share, linewidth=1.0)
        axis.set_ylabel(f'{name}\n[% of limit]', fontsize=8)
        axis.margins(x=0.0)
        axis.sharex(axes[0])
    _legend(axes[0], limits.joint_names)
    axes[3].set_xlabel('time [s]', fontsize=9)
    _spectrum(axes[4], motion)
    _information(axes[5], *deviations)
    for axis in axes:
        axis.grid(color='0.9', linewidth=0.6)
        axis.tick_params(labelsize=8)
    figure.suptitle(title, fontsize=11, x=0.01, ha='left', parse_math=False)
    figure.savefig(path, dpi=110)


def _legend(axis: Axes, names: tuple[str, ...]) -> None:
    for line, name in zip(axis.get_lines(), names, strict=True):
        line.set_label(name)
    legend = axis.legend(
        loc='lower left', bbox_to_anchor=(0.0, 1.0), ncols=min(len(names), 7), fontsize=8,
        frameon=False, borderaxespad=0.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _spectrum(axis: Axes, motion: Motion) -> None:
    """Amplitude of the accelerations in parts of each joint's largest."""
    step = motion.t[1] - motion.t[0]
    frequency = np.fft.rfftfreq(len(motion.t), step)
    amplitude = np.abs(np.fft.rfft(motion.a, axis=0))
    size = amplitude.max(axis=0)
    amplitude = amplitude / np.where(size > 0.0, size, 1.0)
    seen = np.flatnonzero((amplitude > _FLOOR**0.5).any(axis=1))
    axis.plot(frequency, amplitude, linewidth=1.0, marker='.', markersize=3)
    axis.set_xlim(0.0, frequency[min(seen[-1] + 5, len(frequency) - 1)] if len(seen) else 1.0)
    axis.set_ylabel('acceleration\n[of its peak]', fontsize=8)
    axis.set_xlabel('frequency [Hz]', fontsize=9)


def _information(axis: Axes, t: np.ndarray, deviations: np.ndarray) -> None:
    """How the expected uncertainty shrinks while the robot moves."""
    ordered = np.sort(100.0 * deviations, axis=1)
    axis.fill_between(t, ordered[:, 0], ordered[:, -1], color=CANDIDATE, alpha=0.15, linewidth=0.0)
    axis.semilogy(t, ordered[:, -1], color=ERROR, linewidth=1.0, label='least known')
    axis.semilogy(t, np.median(ordered, axis=1), color=CANDIDATE, linewidth=1.4, label='median')
    axis.semilogy(t, ordered[:, 0], color=PRIOR, linewidth=1.0, label='best known')
    axis.set_ylabel('expected σ of base\nparameters [% of usual]', fontsize=8)
    axis.set_xlabel('time [s]', fontsize=9)
    axis.margins(x=0.0)
    axis.legend(fontsize=8, frameon=False, ncols=3, loc='best')
