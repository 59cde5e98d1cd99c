"""What data determine, and sandwich covariances, against constructed cases."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.uncertainty import determined, sandwich


def test_what_moves_unseen_is_found_in_any_units(rng):
    # Five parameters, of which the last two are combinations of others, and one does nothing.
    rows = rng.normal(size=(40, 3)) * [1e-3, 1.0, 1e4]
    together = np.column_stack([rows, 2.0 * rows[:, 0] - 3e-3 * rows[:, 1], np.zeros(40)])
    found = determined(together.T @ together, range(5))
    assert found.kept.tolist() == [True, True, True, False, False]
    assert found.held.tolist() == [3, 4]
    np.testing.assert_allclose(together @ found.combinations.T, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.combinations[0], [-2.0, 3e-3, 0.0, 1.0, 0.0], atol=1e-9)
    assert found.partners(0, np.ones(5)).tolist() == [0, 1, 3]
    assert found.partners(0, np.array([1.0, 1e3, 1.0, 1.0, 1.0])).tolist() == [0, 3]
    assert found.partners(1, np.ones(5)).tolist() == [4]


def test_those_first_in_order_are_kept(rng):
    rows = rng.normal(size=(30, 2))
    same = np.column_stack([rows, rows.sum(axis=1)])
    for order, held in (([0, 1, 2], 2), ([2, 1, 0], 0), ([2, 0, 1], 1)):
        assert determined(same.T @ same, order).held.tolist() == [held]
    # What may not be kept is held, though the data would tell it.
    assert determined(np.eye(3), [0, 2]).held.tolist() == [1]


def linear_fit(rng, colour, segments, count):
    """Scores and information of a straight fit under noise of a colour, and its true error."""
    design = np.cumsum(rng.normal(size=(count, 2)), axis=0)
    design /= np.abs(design).max(axis=0)
    noise = rng.normal(size=count)
    for start, stop in segments:
        for k in range(start + 1, stop):
            noise[k] += colour * noise[k - 1]
    information = design.T @ design
    error = np.linalg.solve(information, design.T @ noise)
    scores = design * (noise - design @ error)[:, None]
    return information, scores, error


@pytest.mark.parametrize(('colour', 'least'), [(0.0, 0.90), (0.8, 0.80)])
def test_intervals_cover_under_noise_of_any_colour(colour, least):
    rng = np.random.default_rng(7)
    segments, inside, naive = [(0, 1500), (1500, 3000)], 0, 0
    for _ in range(100):
        information, scores, error = linear_fit(rng, colour, segments, 3000)
        covariance = sandwich(information, scores, segments)
        inside += (np.abs(error) < 1.96 * np.sqrt(np.diag(covariance))).sum()
        naive += (np.abs(error) < 1.96 * np.sqrt(np.diag(np.linalg.inv(information)))).sum()
    assert inside / 200 >= least
    if colour:
        assert naive / 200 < 0.6


def test_segments_have_nothing_in_common(rng):
    information, scores, _ = linear_fit(rng, 0.0, [(0, 50)], 50)
    apart = sandwich(information, scores, [(k, k + 1) for k in range(50)])
    inverse = np.linalg.inv(information)
    np.testing.assert_allclose(apart, inverse @ (scores.T @ scores) @ inverse, rtol=1e-9)


@pytest.mark.parametrize('periods', [2.0, 3.4])
def test_what_is_said_twice_is_known_once(periods, rng):
    own = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    wave, noise = own / np.abs(own).max(axis=0), rng.normal(size=400)
    count = round(400 * periods)
    design, said = (np.tile(part, (4, 1))[:count] for part in (wave, noise[:, None]))
    information = design.T @ design
    error = np.linalg.solve(information, design.T @ said)
    scores = design * (said - design @ error)
    repeated = sandwich(information, scores, [(0, count)])
    # The same motion, with noise that does not repeat.
    fresh = rng.normal(size=(count, 1))
    other = design * (fresh - design @ np.linalg.solve(information, design.T @ fresh))
    apart = sandwich(information, other, [(0, count)])
    growth = np.sqrt(np.diag(repeated) / np.diag(apart))
    # Rows that count once in place of so many times.
    np.testing.assert_allclose(growth, np.sqrt(periods), rtol=0.25)
