"""Friction models fitted to a pendulum that sticks and slips: the nearer the truth, the better."""

from __future__ import annotations

import numpy as np
import pytest

from support import friction_pendulum as pendulum

pytestmark = pytest.mark.slow
SECONDS = 14.0


@pytest.fixture(scope='module')
def tables():
    """Costs, costs of the other recording, and energy over the true one, by model."""
    motions = [pendulum.released(angle, SECONDS) for angle in pendulum.ANGLES[:2]]
    # Both stick at last.
    assert all(motion.v[-1, 0] == 0.0 for motion in motions)
    return {friction: pendulum.table(friction, motions) for friction in pendulum.MODELS}


def test_cross_validation_prefers_the_model_that_is_nearer_the_truth(tables):
    crossed = [np.mean(tables[friction][1]) for friction in ('viscous', 'dry', 'Stribeck')]
    # As on the paper's real pendulum (Table 3).
    assert crossed[0] > crossed[1] > crossed[2]


def test_friction_takes_the_energy_that_the_true_one_took(tables):
    for friction in ('dry', 'Stribeck'):
        assert tables[friction][2] == pytest.approx([1.0, 1.0], abs=0.05)
        assert all(tables[friction][3])
