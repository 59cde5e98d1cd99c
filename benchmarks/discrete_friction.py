"""Friction models on synthetic stick and slip: which one foretells, and what energy it takes.

A pendulum with Stribeck's friction is let go from three angles until it sticks. Each model is
fitted to each recording and judged on the other two, their states estimated again.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json

import _support  # noqa: F401
import numpy as np

from support import friction_pendulum as pendulum

SECONDS, SEEDS, ENERGY_BAR = 14.0, 2, 5.0
# What the paper has on its real pendulum (Table 3).
PUBLISHED = {'viscous': 1.92e-6, 'dry': 1.48e-6, 'Stribeck': 1.20e-6}


def main() -> None:
    motions = [pendulum.released(angle, SECONDS) for angle in pendulum.ANGLES]
    found = {}
    print('friction, cost, cross-validation [rad²], energy over the true one, by angle and seed')
    for friction in pendulum.MODELS:
        rows = [pendulum.table(friction, motions, 10 * seed) for seed in range(SEEDS)]
        costs, crossed, energies = (
            np.array([row[part] for row in rows]) for part in range(3))
        good = bool(np.all([row[3] for row in rows]))
        found[friction] = crossed.mean(), 100.0 * float(np.abs(energies - 1.0).max()), good
        print(f'  {friction:9s} {costs.mean():.3e} {crossed.mean():.3e}  '
              + ' '.join(f'{part:.4f}' for part in energies.ravel())
              + ('' if good else '  not all converged'))
    figures = []
    for before, after in zip(pendulum.MODELS[:-1], pendulum.MODELS[1:], strict=True):
        ratio = found[after][0] / found[before][0]
        figures.append({
            'name': f'pendulum, cross-validation of {after} over {before} friction',
            'value': ratio, 'unit': '',
            'reference': f'published {PUBLISHED[after] / PUBLISHED[before]:.2f}, real machine',
            'ratio': None, 'bar': 'below 1', 'ok': bool(ratio < 1.0 and found[after][2])})
    figures += [{
        'name': f'pendulum, {friction} friction, dissipated energy off by at most',
        'value': off, 'unit': '%', 'reference': None, 'ratio': None,
        'bar': f'<= {ENERGY_BAR:g} %', 'ok': bool(off <= ENERGY_BAR and good)}
        for friction, (_, off, good) in found.items()]
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
