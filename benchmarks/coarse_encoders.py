"""Bias and interval coverage where 12-bit encoders are differentiated twice, over many runs."""

from __future__ import annotations

import json
import time

import _support  # noqa: F401
import numpy as np

from support import coarse_encoders as coarse
from sysid_ros.estimation.estimator import make_estimator

RUNS, SECONDS = 40, 6.0
BIAS_BAR, COVERAGE_BAR = 1.0, 0.90



def main() -> None:
    problems = [coarse.coarse_problem(seed, SECONDS) for seed in range(RUNS)]
    truth = coarse.truth(problems[0])
    # Each base parameter's own torque as a part of all torque.
    own = problems[0].regressor[:, :, problems[0].base.independent]
    size = np.linalg.norm(own, axis=(0, 1)) / np.linalg.norm(problems[0].torque)
    biases, coverages = {}, {}
    for name in ('ols', 'wls', 'iv'):
        start = time.process_time()
        estimates = [make_estimator(name).fit(problem) for problem in problems]
        spent = (time.process_time() - start) / RUNS
        if not all(estimate.status.ok for estimate in estimates):
            raise SystemExit(f'{name} did not converge in every run')
        error = np.array([estimate.base_values for estimate in estimates]) - truth
        deviation = np.array([estimate.base_standard_deviation() for estimate in estimates])
        biases[name] = 100.0 * float(np.abs(error.mean(axis=0) * size).max())
        coverages[name] = float(np.mean(np.abs(error) < 1.96 * deviation))
        print(
            f'{name}: largest bias {biases[name]:.2f} % of the torque, 95 % intervals cover '
            f'{100.0 * coverages[name]:.1f} %, {1e3 * spent:.0f} ms per fit')
    print(json.dumps([
        {
            'name': f'iv, {coarse.BITS}-bit encoders: largest bias of {RUNS} runs',
            'value': biases['iv'], 'unit': '% of torque',
            'reference': f'ols {biases["ols"]:.1f} %', 'ratio': biases['ols'] / biases['iv'],
            'bar': f'<= {BIAS_BAR:g} %', 'ok': biases['iv'] <= BIAS_BAR,
        },
        {
            'name': f'iv, {coarse.BITS}-bit encoders: coverage of 95 % intervals',
            'value': coverages['iv'], 'unit': '', 'reference': f'ols {coverages["ols"]:.3f}',
            'ratio': None, 'bar': f'>= {COVERAGE_BAR:g}', 'ok': coverages['iv'] >= COVERAGE_BAR,
        },
    ]))


if __name__ == '__main__':
    main()
