"""The regressor sample by sample is that of the blockwise kernels, for every robot and term."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from support import golden_problems as golden
from support import kernel_caches as caches
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    AsymmetricCoulombFriction,
    CoulombFriction,
    CoupledAxis,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.regressor import sample_regressor
from sysid_ros.mechanics.regressor.sample_regressor import (
    fill_samples,
    sample_model,
    sample_workspace,
)

TERMS = {
    'none': (),
    'plain': (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature(), Stiffness()),
    'smoothed': (CoulombFriction(smoothing=0.05), ViscousFriction()),
    'of some joints': (ViscousFriction(('wrist',)), CoulombFriction(('elbow', 'waist'))),
    'asymmetric': (AsymmetricCoulombFriction(smoothing=0.1),),
    'coupled': (
        CoupledAxis('drive', (('elbow', 1.0), ('wrist', -0.5)), smoothing=0.1), TorqueOffset()),
    'coupled without dry friction': (CoupledAxis('drive', (('elbow', 2.0),), dry=False),),
}


def rows_of(model, motion):
    arrays = sample_model(model)
    rows = np.full((len(motion[0]), motion[0].shape[1], len(model.parameters)), np.nan)
    fill_samples(arrays, sample_workspace(arrays), *(read_only(x) for x in motion), rows)
    return rows


def read_only(x):
    view = x.view()
    view.setflags(write=False)
    return view


@pytest.mark.parametrize('name', golden.NAMES)
def test_rows_are_those_of_the_torque_model(name, rng):
    model = golden.golden(name).model
    if model.robot.loops is not None:
        assert sample_model(model) is None
        return
    motion = rng.normal(size=(3, 20, len(model.robot.joint_names)))
    expected = model.regressor(*motion)
    np.testing.assert_allclose(
        rows_of(model, motion), expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize('name', TERMS)
def test_columns_of_joint_terms_are_those_of_the_torque_model(name, rng):
    model = replace(golden.golden('arm').model, terms=TERMS[name])
    motion = rng.normal(size=(3, 20, 3))
    motion[1, :5] = 0.0
    expected = model.regressor(*motion)
    np.testing.assert_allclose(
        rows_of(model, motion), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_a_sample_has_the_same_bits_whatever_comes_with_it(rng):
    model = golden.golden('branched and prismatic').model
    motion = rng.normal(size=(3, 33, len(model.robot.joint_names)))
    together = rows_of(model, motion)
    alone = np.concatenate([rows_of(model, motion[:, k:k + 1]) for k in range(33)])
    np.testing.assert_array_equal(together, alone)


@dataclass(frozen=True)
class Strange(ViscousFriction):
    """A term whose columns its law does not say."""

    def columns(self, robot, q, v, a):
        return 2.0 * super().columns(robot, q, v, a)


@pytest.mark.parametrize('term', [Strange(), DriveGain()])
def test_a_model_with_another_term_is_left_to_its_own_regressor(term):
    assert sample_model(replace(golden.golden('arm').model, terms=(term,))) is None


def test_the_cache_of_the_samples_looks_at_the_files_they_call():
    caches.assert_cache_looks_at_its_sources(sample_regressor, fill_samples)
