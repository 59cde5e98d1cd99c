"""Recursive least squares on a leg of 66 parameters: time per step, and a day of samples.

The leg is that of the paper: three links, three geared rotors, viscous and dry friction. The
reference is the same step in plain NumPy: rows of one sample, sums, Newton iterations with the
analytic gradient and Hessian, each body's inverse by NumPy, steps halved until they stay inside.
``--day`` runs 8.64e7 steps, a day at 1 kHz, ``--day 0.1`` a tenth of it.
"""

from __future__ import annotations

# isort: off
from _one_core import REPEATS

# isort: on
import argparse
import json
import resource
import statistics
import time

import numpy as np

from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.recursive.recursive_prior import curvature, gradient
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

RATE, SAMPLES, SEED, NOISE = 1000.0, 5000, 0, 0.02
# Paper's times in [µs] on other hardware, with one and with two Newton iterations.
PUBLISHED = {1: 1623.0, 2: 2199.0}
BARS = {1: 20.0, 2: 36.0}
SPEED_UP = 12.0
DAY = 86_400_000
# A day ends with torques within this of those that exact sums would have, relative.
ROUNDING = 1e-9


def link(name, mass, com, size):
    x, y, z = (edge**2 for edge in size)
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{mass / 12 * (y + z)}" ixy="0" ixz="0" iyy="{mass / 12 * (x + z)}" '
        f'iyz="0" izz="{mass / 12 * (x + y)}"/></inertial></link>'
    )


def joint(name, parent, child, axis, xyz):
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" effort="230" velocity="20"/></joint>'
    )


def leg() -> TorqueModel:
    """Six bodies and six friction parameters."""
    robot = RobotModel.from_urdf(
        '<robot name="leg"><link name="body"/>'
        + link('abduction', 1.6, '0 0.036 0', (0.12, 0.15, 0.12))
        + link('hip', 4.0, '0 0.01 -0.06', (0.1, 0.08, 0.4))
        + link('knee', 0.5, '0 0 -0.15', (0.04, 0.04, 0.35))
        + joint('abduct', 'body', 'abduction', '1 0 0', '0 0 0')
        + joint('swing', 'abduction', 'hip', '0 1 0', '0 0.045 0')
        + joint('bend', 'hip', 'knee', '0 1 0', '0 0 -0.342') + '</robot>')
    inertial = (0.4, 0.0, 0.0, 0.0, 6e-4, 0.0, 6e-4, 0.0, 0.0, 6e-4)
    rotors = [
        GearedRotor(f'rotor_{name}', name, 10.6, base, origin, axis=axis, inertial=inertial)
        for name, base, origin, axis in (
            ('abduct', 'body', (0.0, -0.128, 0.0), (1.0, 0.0, 0.0)),
            ('swing', 'abduction', (0.0, 0.045, 0.0), (0.0, 1.0, 0.0)),
            ('bend', 'hip', (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        )
    ]
    return TorqueModel(robot.with_rotors(rotors), (ViscousFriction(), CoulombFriction()))


class Motion:
    """Sums of sines, whose torques are those of bodies 10 % heavier than described."""

    def __init__(self, model: TorqueModel) -> None:
        rng, joints = np.random.default_rng(SEED), len(model.robot.joint_names)
        self.pace = 2.0 * np.pi * rng.uniform(0.3, 2.0, (joints, 5))
        self.phase = rng.uniform(0.0, 2.0 * np.pi, (joints, 5))
        self.size = rng.uniform(0.1, 0.3, (joints, 5))
        self.model = model
        self.truth = 1.1 * model.parameters.prior
        self.truth[-2 * joints:] = 0.2
        _, _, _, tau = self.exact(np.arange(0.0, 20.0, 0.01))
        self.noise = NOISE * np.sqrt(np.mean(tau**2, axis=0))

    def exact(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """Motion and torque without noise."""
        angle = self.pace * t[:, None, None] + self.phase
        q = (self.size * np.sin(angle)).sum(axis=2)
        v = (self.size * self.pace * np.cos(angle)).sum(axis=2)
        a = -(self.size * self.pace**2 * np.sin(angle)).sum(axis=2)
        return q, v, a, self.model.torque(self.truth, q, v, a)

    def samples(self, first: int, count: int) -> tuple[np.ndarray, ...]:
        """Samples with noise; the same whenever they are asked for."""
        q, v, a, tau = self.exact(np.arange(first, first + count) / RATE)
        noise = np.random.default_rng([SEED, first]).normal(size=tau.shape)
        return q, v, a, tau + self.noise * noise


class Plain:
    """The same recursion in NumPy; :meth:`step` is what is timed."""

    def __init__(self, model: TorqueModel, noise: np.ndarray, strength: float, rest: float):
        self.model, self.strength, self.rest = model, strength, rest
        self.weights = noise**-2.0
        self.theta = model.parameters.prior.copy()
        count = len(self.theta)
        self.bodies = len(model.parameters.bodies)
        self.information, self.vector = np.zeros((count, count)), np.zeros(count)
        self.prior = self.theta.copy()
        pseudo = pseudo_inertia(self.prior[:10 * self.bodies].reshape(-1, 10))
        self.basis = PSEUDO_INERTIA_BASIS.reshape(10, 16)
        self.slope = (np.linalg.inv(pseudo).reshape(-1, 16) @ self.basis.T).ravel()

    def step(self, q, v, a, tau, iterations):
        """Take in one sample, arrays of shape ``(1, n)``."""
        rows = self.model.regressor(q, v, a)[0]
        weighted = rows.T * self.weights
        self.information += weighted @ rows
        self.vector += weighted @ tau[0]
        split, alpha = 10 * self.bodies, self.strength
        for _ in range(iterations):
            matrix = self.information.copy()
            slope = self.information @ self.theta - self.vector
            inverse = np.linalg.inv(
                (self.theta[:split].reshape(-1, 10) @ self.basis).reshape(-1, 4, 4))
            slope[:split] += alpha * (
                self.slope - (inverse.reshape(-1, 16) @ self.basis.T).ravel())
            product = inverse[:, None] @ PSEUDO_INERTIA_BASIS @ inverse[:, None]
            blocks = product.reshape(-1, 10, 16) @ self.basis.T
            for c in range(self.bodies):
                block = slice(10 * c, 10 * c + 10)
                matrix[block, block] += alpha * blocks[c]
            slope[split:] += alpha * self.rest * (self.theta[split:] - self.prior[split:])
            diagonal = np.arange(split, len(slope))
            matrix[diagonal, diagonal] += alpha * self.rest
            step, length = np.linalg.solve(matrix, slope), 1.0
            while True:
                trial = self.theta - length * step
                try:
                    np.linalg.cholesky((trial[:split].reshape(-1, 10) @ self.basis).reshape(
                        -1, 4, 4))
                    break
                except np.linalg.LinAlgError:
                    length *= 0.5
            self.theta = trial


def timed(work):
    """Median of a few runs in [s] of processor time."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def speed(motion, regulariser, iterations):
    """Times of a step in [µs]: compiled in chunks, one by one from Python, and NumPy."""
    # A tolerance that no decrement meets: all iterations are done.
    settings = RecursiveLeastSquares(
        regulariser=regulariser, max_iterations=iterations, tolerance=1e-300)
    state = settings.start(motion.model, motion.noise)
    samples = motion.samples(0, SAMPLES)
    state.extend(*samples)
    before = state.iterations
    chunked = timed(lambda: state.extend(*samples)) / SAMPLES
    if state.iterations - before != REPEATS * iterations * SAMPLES or state.failed:
        raise SystemExit('not all Newton iterations were done')
    few = [tuple(x[k] for x in samples) for k in range(500)]
    single = timed(lambda: [state.step(*sample) for sample in few]) / len(few)
    plain = Plain(motion.model, motion.noise, settings.prior_strength, settings.rest_weight)
    one = [tuple(x[k:k + 1] for x in samples) for k in range(500)]
    numpy_time = timed(lambda: [plain.step(*sample, iterations) for sample in one]) / len(one)
    rows_time = timed(lambda: [motion.model.regressor(*s[:3]) for s in one]) / len(one)
    return [1e6 * x for x in (chunked, single, numpy_time, rows_time)]


def agreement(motion):
    """Relative distance of both implementations after the same samples."""
    settings = RecursiveLeastSquares(regulariser='log_det', max_iterations=1)
    state = settings.start(motion.model, motion.noise)
    plain = Plain(motion.model, motion.noise, settings.prior_strength, settings.rest_weight)
    samples = motion.samples(0, 4000)
    state.extend(*samples)
    for k in range(4000):
        plain.step(*(x[k:k + 1] for x in samples), 1)
    return float(np.linalg.norm(state.theta - plain.theta) / np.linalg.norm(plain.theta))


def speed_figures(motion):
    figures = []
    for iterations, bar in BARS.items():
        for regulariser in ('log_det', 'plausible'):
            ours, single, theirs, rows = speed(motion, regulariser, iterations)
            print(
                f'{regulariser}, {iterations} Newton iteration(s): {ours:.1f} µs a step, '
                f'{single:.1f} µs one by one from Python; NumPy {theirs:.0f} µs, of which '
                f'{rows:.0f} µs are its rows; published {PUBLISHED[iterations]:.0f} µs')
            paper = regulariser == 'log_det'
            figures.append({
                'name': f'{regulariser}, {iterations} Newton iteration(s)', 'value': ours,
                'unit': 'µs', 'reference': f'plain NumPy {theirs:.0f} µs, published '
                f'{PUBLISHED[iterations]:.0f} µs', 'ratio': theirs / ours,
                'bar': f'<= {bar:g} µs, {SPEED_UP:g} times faster' if paper else None,
                'ok': bool(not paper or (ours <= bar and theirs >= SPEED_UP * ours)),
            })
    distance = agreement(motion)
    print(f'after 4000 samples the two differ by {distance:.1e}')
    figures.append({
        'name': 'distance to plain NumPy', 'value': distance, 'unit': 'relative',
        'bar': '<= 1e-6', 'ok': bool(distance <= 1e-6)})
    return figures


def day(motion, part):
    """A day of samples: the motion repeats, so that exact sums are known to all digits."""
    settings = RecursiveLeastSquares(max_iterations=1)
    state = settings.start(motion.model, motion.noise)
    # Noise repeats with the motion: what is summed is known to all digits.
    period, count = 100_000, round(part * DAY)
    samples = motion.samples(0, period)
    rows = motion.model.regressor(*samples[:3]) / motion.noise[:, None]
    matrix = rows.reshape(-1, rows.shape[2]).astype(np.longdouble)
    target = (samples[3] / motion.noise).ravel().astype(np.longdouble)
    once, vector = matrix.T @ matrix, matrix.T @ target
    steps = np.diag(curvature(state.prior, state.theta)) ** -0.5
    laps, memory, start, worst = count // period, [], time.process_time(), 0.0
    for lap in range(laps):
        state.extend(*samples)
        if not np.isfinite(state.theta).all() or state.skipped or state.failed:
            raise SystemExit(f'failed in lap {lap}')
        if lap in (0, laps // 4, laps // 2, laps - 1):
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            exact = (lap + 1) * once
            scale = np.sqrt(np.diag(exact).astype(float))
            # Columns that act on nothing hold rounding only, which is no measure.
            scale = np.maximum(scale, 1e-6 * (scale * steps).max() / steps)
            error = np.abs(state.information - exact.astype(float)) / np.outer(scale, scale)
            print(f'after {(lap + 1) * period:.3g} samples: sums off by {error.max():.1e}, '
                  f'margin {min(state.margins().values()):.3f}, memory {memory[-1] / 1024:.1f} MB')
            worst = max(worst, float(error.max()))
    spent = time.process_time() - start
    theta = state.theta
    # The gradient with exact sums, as a Newton step in the prior's steps.
    slope = ((laps * once) @ theta.astype(np.longdouble) - laps * vector).astype(float)
    slope += settings.prior_strength * gradient(state.prior, theta)
    bend = curvature(state.prior, theta)
    step = np.linalg.solve((laps * once).astype(float) + settings.prior_strength * bend, slope)
    left = float(np.sqrt(step @ bend @ step))
    torque = float(np.linalg.norm(rows @ step) / np.linalg.norm(rows @ theta))
    # In directions that no motion shows, sums that are rounded once meet the prior alone.
    whitened = np.linalg.solve(np.linalg.cholesky(bend), (laps * once).astype(float))
    largest = np.linalg.norm(np.linalg.solve(np.linalg.cholesky(bend), whitened.T), 2)
    rounding = float(np.finfo(float).eps * largest / settings.prior_strength)
    print(f'{laps * period:.3g} steps in {spent:.0f} s, {1e6 * spent / (laps * period):.1f} µs '
          f'each; the minimum for exact sums is {left:.1e} prior steps away, where rounding the '
          f'sums once makes up to {rounding:.1e}; its torques differ by {torque:.1e}')
    name = f'{part:g} day(s) at 1 kHz'
    return [
        {'name': f'{name}, sums off by', 'value': worst, 'unit': 'relative', 'bar': '<= 1e-13',
         'ok': worst <= 1e-13},
        {'name': f'{name}, off the minimum', 'value': left, 'unit': 'prior steps',
         'bar': f'<= {rounding:.1e}, sums rounded once', 'ok': left <= rounding},
        {'name': f'{name}, torques off by', 'value': torque, 'unit': 'relative',
         'bar': f'<= {ROUNDING:g}', 'ok': torque <= ROUNDING},
        {'name': f'{name}, memory that was added', 'value': (memory[-1] - memory[0]) / 1024,
         'unit': 'MB', 'bar': '<= 1', 'ok': memory[-1] - memory[0] <= 1024},
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--day', type=float, nargs='?', const=1.0, metavar='PART')
    part = parser.parse_args().day
    motion = Motion(leg())
    print(json.dumps(speed_figures(motion) if part is None else day(motion, part)))


if __name__ == '__main__':
    main()
