"""Delays between torque and motion: how well random ones are recovered on a simulated arm.

Twenty recordings, each torque late by its own random delay from -5 to 20 samples, 1 % torque
noise, dry and viscous friction, masses 20 % and centres of mass 2 cm off the prior. Once with
exact positions and once with encoders of 16 bits whose positions are low-passed and
differentiated.
"""

from __future__ import annotations

import json
import time

import _support  # noqa: F401
import numpy as np

from support.simulated_arm import SimulatedArm
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.delay import estimate_delays
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing

RUNS, SECONDS, BAR = 20, 20.0, 0.2
CASES = (
    ('100 Hz, exact positions', 100.0, None, None),
    ('1 kHz, exact positions', 1000.0, None, None),
    ('1 kHz, 16-bit encoders', 1000.0, 16, LowPass(cutoff=30.0)),
)



def recover(rate, bits, position_filter):
    """Errors in samples, errors in their own deviations, seconds per recording."""
    processing = Processing(position_filter=position_filter)
    random = np.random.default_rng(0)
    errors, scaled, spent = [], [], []
    for seed in range(RUNS):
        arm = SimulatedArm(seed)
        late = random.uniform(-5.0, 20.0, len(arm.joint_names)) / rate
        data = align(
            arm.recording(SECONDS, rate, delays=late, bits=bits), arm.joint_names, processing)
        start = time.perf_counter()
        found = estimate_delays(data, arm.model)
        spent.append(time.perf_counter() - start)
        errors.append((found.seconds - late) * rate)
        scaled.append((found.seconds - late) / found.deviation)
    return np.abs(errors), np.array(scaled), float(np.median(spent))


def main():
    figures = []
    for name, rate, bits, position_filter in CASES:
        errors, scaled, spent = recover(rate, bits, position_filter)
        print(
            f'{name}: worst {errors.max():.3f}, rms {np.sqrt(np.mean(errors**2)):.3f} samples; '
            f'error over its deviation, rms {np.sqrt(np.mean(scaled**2)):.2f}; '
            f'{1e3 * spent:.0f} ms per recording'
        )
        worst = float(errors.max())
        figures.append({
            'name': f'worst of {errors.size} delays, {name}', 'value': round(worst, 4),
            'unit': 'samples', 'reference': '1 % torque noise', 'ratio': None,
            'bar': f'< {BAR:g}', 'ok': worst < BAR,
        })
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
