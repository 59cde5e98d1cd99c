"""Coverage of 95 % intervals where the model is wrong, of rows and between recordings.

A three-joint arm has Stribeck friction, which grows towards rest, or friction that grows with the
load; it is fitted with viscous and Coulomb friction. Recordings are of motions of their own, at
speeds from 0.4 to 2 times a common one. What a fit aims at is then what it finds from very many
such recordings; counted is how often intervals of a few recordings hold that: those from the
residuals of rows, which take the model as true, and those from how much the recordings disagree.
Without an error of the model both should hold it as often as they say.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (before NumPy)

# isort: on
import argparse
import json
import time
from dataclasses import dataclass, replace

import numpy as np
from _arms import serial

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

COUNTS, MANY = (2, 3, 5, 8), 400
SECONDS, RATE, NOISE = 10.0, 20.0, 0.03
SLOWEST, FASTEST = 0.4, 2.0
QUANTILE = 1.96
LEAST = 0.9
LAWS: dict[str, tuple[TermSettings | None, dict[str, float]]] = {
    'none': (None, {}),
    'Stribeck': (
        TermSettings(stribeck_friction='all', coulomb_smoothing=0.02),
        {'stribeck_friction': 1.5, 'stribeck_velocity': 0.5}),
    'load': (TermSettings(load_friction='all', coulomb_smoothing=0.02), {'load_friction': 0.15}),
}


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot with its friction, and the model that is fitted.

    Attributes:
        plant: The robot.
        truth: Its parameters.
        model: What is fitted.
    """

    plant: TorqueModel
    truth: np.ndarray
    model: TorqueModel

    @classmethod
    def of(cls, law: str) -> Robot:
        """The robot whose friction is a law by name."""
        robot = serial(3).robot
        model = TorqueModel(
            robot, (ViscousFriction(), CoulombFriction(smoothing=0.02), TorqueOffset()))
        terms, own = LAWS[law]
        plant = model if terms is None else TorqueModel(robot, terms.build(robot))
        values = {'viscous_friction': 2.0, 'coulomb_friction': 1.0} | own
        truth = plant.parameters.with_values({
            name: values[field] for name in plant.parameters.names
            if (field := name.rpartition('.')[2]) in values}).values
        return cls(plant, truth, model)

    def rows(self, count: int, seed: int) -> RegressionProblem:
        """Rows of some recordings, one after the other."""
        rng = np.random.default_rng(seed)
        parts = [self._recorded(rng) for _ in range(count)]
        q, v, a, tau = (np.concatenate(one) for one in zip(*parts, strict=True))
        each, samples = len(parts[0][0]), len(q)
        return RegressionProblem(
            self.model, self.model.parameters, self.model.regressor(q, v, a), tau,
            np.ones(tau.shape, dtype=bool),
            tuple((k, k + each) for k in range(0, samples, each)), RATE,
            recordings=tuple((k, k + each) for k in range(0, samples, each)))

    def _recorded(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Motion of a recording and its torques."""
        joints = len(self.model.robot.joint_names)
        speed = np.exp(rng.uniform(np.log(SLOWEST), np.log(FASTEST)))
        t = speed * np.arange(0.0, SECONDS, 1.0 / RATE)[:, None, None]
        omega = 2.0 * np.pi * rng.uniform(0.1, 0.6, (joints, 4))
        phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, (joints, 4)), rng.uniform(
            0.1, 0.5, (joints, 4))
        angle = omega * t + phase
        q = (amplitude * np.sin(angle)).sum(axis=2)
        v = speed * (amplitude * omega * np.cos(angle)).sum(axis=2)
        a = -speed**2 * (amplitude * omega**2 * np.sin(angle)).sum(axis=2)
        tau = self.plant.torque(self.truth, q, v, a)
        size = NOISE * np.sqrt(np.mean(tau**2, axis=0))
        return q, v, a, tau + size * rng.normal(size=tau.shape)


def held(robot: Robot, target: np.ndarray, count: int, seed: int, estimator: str) -> np.ndarray:
    """Which base parameters the intervals of rows, and those between recordings, hold, (2, r)."""
    estimate = make_estimator(estimator).fit(robot.rows(count, seed))
    between = estimate.between
    assert between is not None
    off = np.abs(estimate.base_values - target)
    return np.array([
        off < QUANTILE * estimate.base_standard_deviation(),
        off < between.quantile * between.base_standard_deviation])


def main() -> None:
    """Runs as many draws as are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--runs', type=int, default=60, help='draws for each number of recordings')
    runs = parser.parse_args().runs
    figures, begin = [], time.perf_counter()
    for law in LAWS:
        robot = Robot.of(law)
        target = make_estimator('wls').fit(
            replace(robot.rows(MANY, 10**6), recordings=())).base_values
        for estimator in ('wls', 'entropic'):
            for count in COUNTS:
                found = np.array([
                    held(robot, target, count, seed, estimator) for seed in range(runs)])
                rows, between = found.mean(axis=(0, 2))
                figures.append({
                    'name': f'{estimator}, model error {law}, {count} recordings: rows '
                            f'{100 * rows:.0f} %, between recordings', 'unit': '%',
                    'value': round(100.0 * between, 1),
                    'bar': f'>= {100 * LEAST:g} %', 'ok': bool(between >= LEAST)})
                print(figures[-1]['name'], figures[-1]['value'],
                      f'{time.perf_counter() - begin:.0f} s', flush=True)
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
