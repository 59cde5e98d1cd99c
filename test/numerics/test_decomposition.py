"""Decompositions go on where LAPACK's fastest algorithm gives up."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.numerics.decomposition import svd


def given_up(*_, **__):
    raise np.linalg.LinAlgError('SVD did not converge')


@pytest.mark.parametrize('full', [True, False])
@pytest.mark.parametrize('shape', [(7, 4), (4, 7), (5, 5)])
def test_what_numpy_gives_up_is_decomposed_all_the_same(rng, monkeypatch, shape, full):
    matrix = rng.normal(size=shape)
    usual = svd(matrix, full_matrices=full)
    monkeypatch.setattr(np.linalg, 'svd', given_up)
    left, values, right = svd(matrix, full_matrices=full)
    assert [part.shape for part in (left, values, right)] == [part.shape for part in usual]
    np.testing.assert_allclose(values, usual[1], rtol=1e-12)
    k = len(values)
    np.testing.assert_allclose(left[:, :k] * values @ right[:k], matrix, atol=1e-12)


def test_what_is_not_finite_is_an_error(monkeypatch):
    monkeypatch.setattr(np.linalg, 'svd', given_up)
    with pytest.raises(np.linalg.LinAlgError):
        svd(np.full((3, 3), np.nan))
