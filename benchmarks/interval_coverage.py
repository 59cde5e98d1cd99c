"""Coverage of 95 % intervals on a simulated seven-joint arm, 200 runs for each kind of noise.

Encoders and torques are sampled at 1 kHz and processed as a user would: positions low-passed and
differentiated, both sides filtered at 10 Hz and decimated to 25 Hz. The runs are twenty robots with
parameters and a motion of their own, ten draws of torque noise each; within a robot the error of
the quantised encoders is the same in all draws. Beside each coverage stands that of naive
intervals, which take the filtered rows at 1 kHz as independent, and the bias that the encoders
leave, in standard deviations of the parameter. Encoders of 12 bits are shown without a bar: their
errors in the regressor are none of the torque's noise, and no covariance covers them.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (before NumPy)

# isort: on
import argparse
import json
import time
from dataclasses import dataclass, replace

import _support  # noqa: F401
import numpy as np
import scipy.linalg
import scipy.signal
from _arms import serial

from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter

RUNS, DRAWS, SECONDS, RATE = 200, 10, 30.0, 1000.0
NOISE, QUANTILE = 0.02, 1.96
ENCODERS, COARSEST = (12, 14, 16, 19), 14
COLOURS = {'white': 0.0, 'AR(1), 50 ms': float(np.exp(-1.0 / (0.05 * RATE)))}
ESTIMATORS = ('ols', 'wls')
POSITIONS = Processing(position_filter=LowPass(cutoff=30.0))
ROWS = ParallelFilter(cutoff=10.0, decimate_to=25.0)
ALL_ROWS = ParallelFilter(cutoff=10.0)
BAR, WORST = (0.93, 0.97), 0.85



@dataclass(frozen=True, eq=False)
class Robot:
    """One robot, its motion as the encoders showed it, and its exact torques.

    Attributes:
        problem: Decimated rows with exact torques.
        truth: True base parameters, shape ``(r,)``.
        samples: Samples of the recording that the data set keeps.
        size: Standard deviation of the torque noise in [N·m], shape ``(n,)``.
        rows: All filtered rows at 1 kHz, shape ``(T n, r)``.
        inverse: Inverse of their Gram matrix, shape ``(r, r)``.
        torque: Their exact torques, shape ``(T, n)``.
    """

    problem: RegressionProblem
    truth: np.ndarray
    samples: slice
    size: np.ndarray
    rows: np.ndarray
    inverse: np.ndarray
    torque: np.ndarray

    @classmethod
    def simulated(cls, seed, bits, base):
        """A robot whose masses and motion follow from a seed."""
        arm = SimulatedArm(seed, description=serial(7).robot.description.xml.decode())
        recording = arm.recording(SECONDS, RATE, noise=0.0, bits=bits)
        data = align(recording, arm.joint_names, POSITIONS)
        dense = RegressionProblem.from_dataset(arm.model, data, parallel_filter=ALL_ROWS)
        # Decimation keeps every so many rows of the same filter.
        kept = slice(None, None, ROWS.factor(RATE))
        problem = replace(
            dense, regressor=dense.regressor[kept], torque=dense.torque[kept],
            usable=dense.usable[kept], segments=ROWS.retained_samples(RATE, data.segments)[1],
            rate=RATE / ROWS.factor(RATE),
        )
        # The model is the same for all robots, and so are its base parameters.
        base = base or problem.base
        problem.__dict__['base'] = base
        rows = dense.regressor[:, :, base.independent].reshape(-1, base.rank)
        start = round(data.t[0] * RATE)
        tau = recording.channel('effort').values
        return cls(
            problem, base.values(arm.truth), slice(start, start + len(data)),
            NOISE * np.sqrt(np.mean(tau**2, axis=0)), rows, scipy.linalg.inv(rows.T @ rows),
            dense.torque,
        )

    def draw(self, random, rho):
        """Torque noise as it reaches the decimated rows, and all filtered rows."""
        shocks = random.normal(size=(round(SECONDS * RATE), len(self.size)))
        shocks[1:] *= np.sqrt(1.0 - rho**2)
        noise = self.size * scipy.signal.lfilter([1.0], [1.0, -rho], shocks, axis=0)
        segments = ((0, self.samples.stop - self.samples.start),)
        # The filters are linear: only the noise is new.
        dense, _, _ = ALL_ROWS.apply(noise[self.samples], RATE, segments)
        return dense[::ROWS.factor(RATE)], dense

    def naive(self, noise):
        """Errors over naive standard deviations of all rows, shape ``(r,)``."""
        torque = (self.torque + noise).ravel()
        values = self.inverse @ (self.rows.T @ torque)
        residual = torque - self.rows @ values
        variance = residual @ residual / (len(torque) - len(values))
        return (values - self.truth) / np.sqrt(variance * np.diag(self.inverse))


def errors(bits, robots):
    """Errors over standard deviations, ``(robots, draws, r)`` by noise and method; names."""
    base, found = None, {(c, m): [] for c in COLOURS for m in (*ESTIMATORS, 'naive')}
    for seed in range(robots):
        robot = Robot.simulated(seed, bits, base)
        base = robot.problem.base
        random = np.random.default_rng([seed, bits])
        for colour, rho in COLOURS.items():
            for _ in range(DRAWS):
                decimated, dense = robot.draw(random, rho)
                problem = replace(robot.problem, torque=robot.problem.torque + decimated)
                problem.__dict__['base'] = base
                for method in ESTIMATORS:
                    estimate = make_estimator(method).fit(problem)
                    error = estimate.base_values - robot.truth
                    found[colour, method].append(error / estimate.base_standard_deviation())
                found[colour, 'naive'].append(robot.naive(dense))
    names = [base.names[k] for k in base.independent]
    return {k: np.reshape(v, (robots, DRAWS, -1)) for k, v in found.items()}, names


def bias(scaled):
    """Bias that all draws of a robot share, root mean square, in standard deviations."""
    shared = np.mean(scaled.mean(axis=1)**2) - np.mean(scaled.var(axis=1, ddof=1)) / DRAWS
    return float(np.sqrt(max(shared, 0.0)))


def report(bits, colour, scaled, terms):
    """Print the table of one kind of noise; returns its figures, none for coarse encoders."""
    print(f'\n{bits}-bit encoders, {colour} torque noise of {100 * NOISE:g} %')
    print('  method  all     bodies  joint terms  worst parameter  bias')
    figures = []
    naive = float(np.mean(np.abs(scaled[colour, 'naive']) < QUANTILE))
    for method in (*ESTIMATORS, 'naive'):
        values = scaled[colour, method]
        hit = np.abs(values) < QUANTILE
        each = hit.mean(axis=(0, 1))
        print(f'  {method:6}  {hit.mean():.4f}  {each[~terms].mean():.4f}  {each[terms].mean():.4f}'
              f'       {each.min():.3f}            {bias(values):.2f}', flush=True)
        if method == 'naive' or bits < COARSEST:
            continue
        where = f'{method}, {colour}, {bits} bits'
        figures += [
            {'name': f'coverage, {where}', 'value': round(float(hit.mean()), 4), 'unit': '',
             'reference': f'naive {naive:.2f}', 'ratio': None, 'bar': f'{BAR[0]} to {BAR[1]}',
             'ok': bool(BAR[0] <= hit.mean() <= BAR[1])},
            {'name': f'worst parameter, {where}', 'value': round(float(each.min()), 4), 'unit': '',
             'reference': None, 'ratio': None, 'bar': f'>= {WORST}',
             'ok': bool(each.min() >= WORST)},
        ]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--runs', type=int, default=RUNS, help='runs for each kind of noise')
    parser.add_argument('--bits', type=int, nargs='+', default=ENCODERS, help='of the encoders')
    options = parser.parse_args()
    robots = -(-options.runs // DRAWS)
    figures, start = [], time.process_time()
    for bits in options.bits:
        scaled, names = errors(bits, robots)
        terms = np.array([name.startswith('joint') for name in names])
        for colour in COLOURS:
            figures += report(bits, colour, scaled, terms)
    print(f'{terms.size} base parameters, {robots * DRAWS} runs each; '
          f'{time.process_time() - start:.0f} s in all')
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
