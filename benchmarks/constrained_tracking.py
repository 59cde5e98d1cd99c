"""The leg of the closed chain tracks sines by the truth, or by what was identified of it.

Torques are those of the model along the desired motion (Zhang, Haugk and Vasudevan, System
Identification For Constrained Robots, eq. (34)), with proportional and derivative feedback on
encoders of 14 bits, the same for all. Tables like their III and IV are printed; what is judged is
the error over all motors. The parameters were identified from a minute of another motion,
beginning with masses up to 20 % off and half of the friction and drive inertia, which is the third
controller. At 3 and 5 rad/s all at once the leg's motors are too weak, so they have no limits here.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401

# isort: on
import json
from typing import Any

import constrained as leg
import numpy as np

RATE, MOTORS = leg.RATE, leg.MOTORS
SPEEDS, SECONDS, BAR = (1.8, 3.0, 5.0), 6.0, 1.2
# Part of each range that the sines have.
PART = 0.8


def sines(model, speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sines of all motors, whose highest speed is given in [rad/s]."""
    limits = model.robot.limits
    size = PART * 0.5 * (limits.upper - limits.lower)
    omega, phase = speed / size, 2.0 * np.pi * np.arange(len(size)) / len(size)
    angle = np.arange(round(SECONDS * RATE) + 1)[:, None] / RATE * omega + phase
    centre = 0.5 * (limits.lower + limits.upper)
    return (centre + size * np.sin(angle), size * omega * np.cos(angle),
            -size * omega**2 * np.sin(angle))


def figures() -> list[dict[str, Any]]:
    """Tracking by all parameters at all speeds."""
    model = leg.model_of()
    truth, prior = leg.truth_and_prior(model, 1)
    recording = leg.recorded(model, truth, leg.SECONDS, 3)
    found = leg.identified(model, prior, recording)[1].parameters
    known = {'truth': truth, 'identified': found.values, 'described': prior.prior}
    results = []
    for speed in SPEEDS:
        reference, errors = sines(model, speed), {}
        for name, values in known.items():
            measured, torque = leg.followed(
                model, reference, model.torque(values, *reference), encoders=True, limited=False)
            errors[name] = np.degrees(measured - reference[0])
            most = np.abs(torque / model.robot.limits.effort).max()
            print(f'{speed} rad/s, {name} ({most:.0%} of the torque limits): ' + ', '.join(
                f'{motor} ({mean:.3f}, {worst:.3f})' for motor, mean, worst in zip(
                    MOTORS, np.abs(errors[name]).mean(0), np.abs(errors[name]).max(0),
                    strict=True)))
        size = {name: float(np.sqrt(np.mean(error**2))) for name, error in errors.items()}
        ratio = size['identified'] / size['truth']
        results.append({
            'name': f'tracking of the leg, sines of {speed:g} rad/s', 'value': size['identified'],
            'unit': 'degrees', 'reference': f'by the truth {size["truth"]:.3g}, as described '
            f'{size["described"]:.3g} degrees', 'ratio': ratio,
            'bar': f'<= {BAR:g} times that by the truth', 'ok': bool(ratio <= BAR)})
    return results


if __name__ == '__main__':
    print('mean and largest error of each motor in degrees')
    print(json.dumps(figures(), ensure_ascii=False))
