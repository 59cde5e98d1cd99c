"""Loads that a seven-joint arm picks up in motion, and alarms while it carries none.

The arm's description is off; committed is what a recursion found in a minute of motion. Then loads
of 0.5, 1 and 2 kg are attached at random instants of other motions, with torque noise of 2 %.
Without a load the arm moves on for hours (``--hours``), at a lower rate: tests come after equal
times, so that their number, which false alarms depend on, is that of the full rate.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401

# isort: on
import argparse
import json
import time

import numpy as np
import payload

from sysid_ros.estimation.online.change_detection import ChangeDetector
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import inertial_parameters

LOADS, TRIALS, NOISE, RATE, SLOW_RATE = (0.5, 1.0, 2.0), 20, 0.02, 1000.0, 50.0
DETECTION_BAR, MASS_BAR, ALARM_BAR = 2.0, 3.0, 1.0 / 20.0
AFTER = 2.0



class Arm:
    """The true arm, and what was committed of it."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        robot = payload.arm()
        terms = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature())
        self.model = TorqueModel(robot, terms)
        self.truth = np.concatenate([
            payload.off(robot, self.random).ravel(), payload.VISCOUS, payload.COULOMB,
            np.zeros(7), payload.ARMATURE])
        q, v, a = self.motion(np.arange(0.0, 60.0, 1.0 / RATE))
        tau = self.model.torque(self.truth, q, v, a)
        self.noise = NOISE * np.sqrt(np.mean(tau**2, axis=0))
        state = RecursiveLeastSquares(max_iterations=1).start(self.model, self.noise)
        state.extend(q, v, a, self.noisy(tau))
        if not state.converge():
            raise SystemExit('the fit to commit did not converge')
        own = np.searchsorted(state.free, base_parameters(self.model).independent)
        self.committed, self.known = state.theta, state.information[np.ix_(own, own)]

    def motion(self, t):
        """A new random motion of five sines per joint."""
        pace = 2.0 * np.pi * self.random.uniform(0.05, 0.5, (7, 5))
        phase = self.random.uniform(0.0, 2.0 * np.pi, (7, 5))
        size = self.random.uniform(0.3, 1.0, (7, 5)) * 0.25 * payload.REACH[:, None]
        angle = pace * t[:, None, None] + phase
        return ((size * np.sin(angle)).sum(axis=2), (size * pace * np.cos(angle)).sum(axis=2),
                -(size * pace**2 * np.sin(angle)).sum(axis=2))

    def noisy(self, tau):
        """Torque as it is measured."""
        return tau + self.noise * self.random.normal(size=tau.shape)

    def detector(self, rate):
        """A detector for what was committed."""
        return ChangeDetector(
            self.model, self.committed, self.noise, rate, base_information=self.known)

    def loaded(self, mass):
        """True parameters with a solid box in the frame of the last link."""
        sides = self.random.uniform(0.06, 0.16, 3)
        com = np.array([*self.random.uniform(-0.05, 0.05, 2), self.random.uniform(0.1, 0.18)])
        load = inertial_parameters(
            mass, com, np.diag(mass / 12.0 * (np.sum(sides**2) - sides**2)))
        theta = self.truth.copy()
        theta[60:70] += load
        return theta, load


def trial(arm, mass):
    """Times to the alarm and to its right name in [s], and errors of mass and moment in %."""
    theta, load = arm.loaded(mass)
    onset = round(RATE * arm.random.uniform(2.0, 5.0))
    q, v, a = arm.motion(np.arange(0.0, 5.0 + AFTER, 1.0 / RATE))
    tau = arm.model.torque(arm.truth, q, v, a)
    tau[onset:] = arm.model.torque(theta, q[onset:], v[onset:], a[onset:])
    end = onset + round(AFTER * RATE)
    found = arm.detector(RATE).extend(*(x[:end] for x in (q, v, a, arm.noisy(tau))))
    right = [c for c in found if c.kind == 'payload' and c.where == 'link7']
    if not right or found[0].sample <= onset:
        return np.inf, np.inf, np.inf, np.inf, bool(found and found[0].sample <= onset)
    last = right[-1]
    moment = np.linalg.norm(last.values[1:4] - load[1:4]) / np.linalg.norm(load[1:4])
    return ((found[0].sample - onset) / RATE, (right[0].sample - onset) / RATE,
            100.0 * abs(last.values[0] / mass - 1.0), 100.0 * moment, False)


def false_alarms(arm, hours):
    """Alarms of an arm that did not change."""
    detector, alarms, samples = arm.detector(SLOW_RATE), 0, 0
    while samples < hours * 3600.0 * SLOW_RATE:
        q, v, a = arm.motion(np.arange(0.0, 60.0, 1.0 / SLOW_RATE))
        found = detector.extend(q, v, a, arm.noisy(arm.model.torque(arm.truth, q, v, a)))
        samples += len(q)
        for change in found:
            print(f'{samples / SLOW_RATE / 3600:.2f} h: {change.words} '
                  f'({change.statistic:.1f}, threshold {change.threshold:.1f})')
        alarms += len(found)
    return alarms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--hours', type=float, default=20.0)
    hours = parser.parse_args().hours
    arm, figures = Arm(), []
    for mass in LOADS:
        results = np.array([trial(arm, mass) for _ in range(TRIALS)], dtype=float)
        late, named, error, moment, _ = results.max(axis=0)
        print(f'{mass:g} kg, {TRIALS} instants: alarm within {late:.3f} s, named within '
              f'{named:.3f} s, after {AFTER:g} s mass within {error:.2f} % and first moment '
              f'within {moment:.2f} % (medians {np.median(results[:, 2]):.2f} %, '
              f'{np.median(results[:, 3]):.2f} %)')
        figures += [
            {'name': f'{mass:g} kg, found and named', 'value': named, 'unit': 's',
             'bar': f'< {DETECTION_BAR:g} s', 'ok': bool(named < DETECTION_BAR)},
            {'name': f'{mass:g} kg, worst mass', 'value': error, 'unit': '%',
             'bar': f'<= {MASS_BAR:g} %', 'ok': bool(error <= MASS_BAR)},
        ]
    start = time.process_time()
    alarms = false_alarms(arm, hours)
    print(f'{alarms} false alarms in {hours:g} h, simulated in {time.process_time() - start:.0f} s')
    figures.append({
        'name': f'false alarms in {hours:g} h', 'value': alarms, 'unit': '',
        'bar': f'<= 1 in {1.0 / ALARM_BAR:g} h',
        'ok': bool(alarms <= max(hours * ALARM_BAR, 1.0))})
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
