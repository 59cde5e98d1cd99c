"""Recordings of a driven four-bar linkage with a known truth, and the graph that explains them.

An encoder at the crank, a gyroscope on the coupler and the torque of the motor, all with white
noise. The motion is that of the linkage reduced to its crank angle, integrated at 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from support import four_bar_reference as reference
from sysid_ros.estimation.trajectory.graph.factors import Prior, Selection, Trapezoidal
from sysid_ros.estimation.trajectory.graph.free_parameters import free_parameters_of
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism

#: Step in [s] and length of the recordings of examples/four_bar.
EXAMPLE_STEP, EXAMPLE_COUNT = 5e-3, 3001
NAMES = ('crank.mass', 'coupler.mass', 'rocker.mass', 'theta.viscous_friction')
TRUTH = np.array([1.0, 2.0, 4.0, 6.0])
# Noise of the encoder in [rad], of the gyroscope in [rad/s], of the torque as a part of its RMS.
ENCODER, GYROSCOPE, TORQUE = 1e-3, 1e-2, 0.01


@dataclass
class Recording:
    """A motion of the linkage.

    steps of so many seconds; powered by a torque of several frequencies, or swinging freely.
    """

    step: float = 1e-3
    count: int = 5001
    powered: bool = True

    def torque_at(self, time):
        if not self.powered:
            return 0.0 * time
        return 45.0 + 40.0 * np.sin(1.7 * time) + 30.0 * np.sin(4.3 * time + 1.0) + (
            15.0 * np.cos(8.1 * time))

    @cached_property
    def truth(self):
        """Angle of the crank, rate of the coupler, torque, and rates of the crank."""
        t = self.step * np.arange(self.count)
        bar = reference.FourBar(friction=TRUTH[3])
        motion = bar.motion(t, self.torque_at)
        q, v, _ = bar.coordinates(*motion)
        way, change = q[:, 2:4] - q[:, :2], v[:, 2:4] - v[:, :2]
        turning = (way[:, 0] * change[:, 1] - way[:, 1] * change[:, 0]) / np.sum(way**2, axis=1)
        return motion[0], turning, self.torque_at(t), motion[1]

    def graph(self, seed):
        """The graph of readings with noise, its parameters begun up to a fifth off."""
        rng = np.random.default_rng(seed)
        angle, turning, torque, _ = self.truth
        spread = TORQUE * np.sqrt(np.mean(torque**2))
        noise = rng.normal(size=(3, self.count))
        text = reference.description(more='viscous_friction: 6.0').replace(
            'torques:', '  coupler: {of: [P1, P2]}\ntorques:')
        mechanism = parse_mechanism(text)
        free_parameters = free_parameters_of(mechanism, NAMES, shapes_held=True)
        free_parameters = free_parameters._replace(start=TRUTH * rng.uniform(0.8, 1.2, 4))
        factors = [
            PositionConstraints(), VelocityConstraints(), Selection('q'), Selection('v'),
            Trapezoidal('z', 1e-6), Trapezoidal('dz', 1e-5),
            Prior('q', (angle + ENCODER * noise[0])[:, None], ENCODER, only=['theta'],
                  title='encoder'),
            Prior('v', (turning + GYROSCOPE * noise[1])[:, None], GYROSCOPE, only=['coupler'],
                  title='gyroscope')]
        if self.powered:
            factors += [
                Dynamics(1e-2, torque=None, independent=True),
                Prior('torque', (torque + spread * noise[2])[:, None], spread, title='torque')]
        else:
            factors.append(Dynamics(1e-2, independent=True))
        return FactorGraph(mechanism, self.step, self.count, factors, free_parameters)


def example_table(number):
    """Times, crank angles and torques of a recording of examples/four_bar, with noise.

    Args:
        number: 1 or 2.
    """
    t, rng = EXAMPLE_STEP * np.arange(EXAMPLE_COUNT), np.random.default_rng(number)
    pace, bias = ((1.7, 4.3, 8.1), 45.0) if number == 1 else ((2.3, 3.7, 6.9), -30.0)

    def torque(time):
        return bias + 40.0 * np.sin(pace[0] * time) + 30.0 * np.sin(pace[1] * time + 1.0) + (
            15.0 * np.cos(pace[2] * time))

    angle = reference.FourBar(gravity=9.80665, friction=TRUTH[3]).motion(t, torque)[0]
    measured = torque(t)
    spread = TORQUE * np.sqrt(np.mean(measured**2))
    noise = rng.normal(size=(2, EXAMPLE_COUNT))
    return np.column_stack([t, angle + ENCODER * noise[0], measured + spread * noise[1]])


def write_example(path, number):
    """Write a recording of examples/four_bar."""
    np.savetxt(
        path, example_table(number), fmt=('%.3f', '%.4f', '%.3f'), delimiter=',', comments='',
        header='t,theta,torque')
