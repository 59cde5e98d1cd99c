"""What folds and simulated stretches do to the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.cross_validation import cross_validate
from sysid_ros.evaluation.evaluation import HeldOut, evaluate
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.simulation import simulate
from sysid_ros.evaluation.verdict import judge


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def estimate(golden):
    return make_estimator('entropic').fit(golden.problem(0.02))


@pytest.fixture(scope='module')
def prediction(golden, estimate):
    return predict(estimate, golden.problem(0.02, seed=31))


@pytest.fixture(scope='module')
def folds(golden, estimate):
    return cross_validate(make_estimator('entropic'), golden.problem(0.02), estimate, count=3)


@pytest.fixture(scope='module')
def simulation(golden, estimate):
    return simulate(golden.model, estimate.parameters.values, golden.dataset(0.02, seed=31))


def worse_folds(folds, which, factor=1.2):
    """The folds with some of them worse than the prior."""
    changed = []
    for k, fold in enumerate(folds.folds):
        error = factor * fold.prediction.prior.relative_error
        candidate = replace(fold.prediction.candidate, relative_error=error)
        changed.append(
            replace(fold, prediction=replace(fold.prediction, candidate=candidate))
            if k in which else fold)
    return replace(folds, folds=tuple(changed))


def test_folds_are_evidence_though_weak(estimate, folds):
    verdict = judge(estimate, None, folds=folds)
    assert verdict.committable
    (remark,) = [r for r in verdict.remarks if 'weak evidence' in r]
    assert 'stretches left out in turn' in remark


def test_beside_another_recording_folds_are_not_called_the_evidence(estimate, prediction, folds):
    verdict = judge(estimate, prediction, folds=folds)
    assert verdict.committable
    assert not any('weak evidence' in remark for remark in verdict.remarks)


def test_folds_worse_than_the_prior_are_the_reason(estimate, prediction, folds):
    for held_out in (None, prediction):
        verdict = judge(estimate, held_out, folds=worse_folds(folds, (0, 1, 2)))
        (reason,) = verdict.reasons
        assert 'left out are predicted no better than by the prior' in reason


def test_one_fold_worse_than_the_prior_is_a_remark(estimate, folds):
    verdict = judge(estimate, None, folds=worse_folds(folds, (1,)))
    assert verdict.committable
    assert any(remark.startswith('Fold 2 of 3') for remark in verdict.remarks)


def test_a_fold_that_cannot_be_fitted_is_the_reason(estimate, prediction, folds):
    broken = (replace(folds.folds[0], status=Status.INFEASIBLE), *folds.folds[1:])
    verdict = judge(estimate, prediction, folds=replace(folds, folds=broken))
    (reason,) = verdict.reasons
    assert reason.startswith('1 of 3 folds could not be fitted: ')
    assert Status.INFEASIBLE.value in reason


def test_parameters_that_scatter_more_than_their_deviations_are_a_remark(estimate, folds):
    honest = replace(folds, deviation=folds.deviation * folds.overall_sigma_ratio)
    assert not any('Between folds' in r for r in judge(estimate, None, folds=honest).remarks)
    proud = replace(folds, deviation=honest.deviation / 5.0)
    (remark,) = [r for r in judge(estimate, None, folds=proud).remarks if 'Between folds' in r]
    assert 'as that much wider' in remark


def test_a_good_simulation_says_nothing(estimate, prediction, simulation):
    verdict = judge(estimate, prediction, simulation=simulation)
    assert verdict.committable
    assert verdict.remarks == judge(estimate, prediction).remarks


def test_motion_further_off_than_with_the_prior_is_the_reason(estimate, prediction, simulation):
    swapped = replace(simulation, candidate=simulation.prior, prior=simulation.candidate)
    verdict = judge(estimate, prediction, simulation=swapped)
    (reason,) = verdict.reasons
    assert 'times as far from the measured motion as the prior' in reason


def test_one_joint_further_off_than_with_the_prior_is_a_remark(estimate, prediction, simulation):
    # The joint that weighs least in all, so that the others still outweigh it.
    least = int(np.argmin(simulation.prior.position / simulation.coasting.position))
    position = simulation.candidate.position.copy()
    position[least] = 1.2 * simulation.prior.position[least]
    worse = replace(simulation, candidate=replace(simulation.candidate, position=position))
    verdict = judge(estimate, prediction, simulation=worse)
    assert verdict.committable
    (remark,) = [r for r in verdict.remarks if 'than with the prior' in r]
    others = set(simulation.joint_names) - {simulation.joint_names[least]}
    assert simulation.joint_names[least] in remark
    assert not any(name in remark for name in others)


def test_a_joint_that_coasting_predicts_better_is_a_remark(estimate, prediction, simulation):
    coasting = replace(simulation.coasting, position=0.5 * simulation.candidate.position)
    remarks = judge(
        estimate, prediction, simulation=replace(simulation, coasting=coasting)).remarks
    assert any('A constant velocity would have predicted' in remark for remark in remarks)


@pytest.mark.parametrize(('name', 'value', 'words'), [
    ('wrist.armature', -5.0, 'It cannot be simulated: the mass matrix is not positive definite'),
    ('wrist.viscous_friction', -40.0, 'stretches diverge; with the prior none does')])
def test_parameters_that_cannot_be_simulated_are_the_reason(
    golden, estimate, prediction, name, value, words
):
    values = estimate.parameters.with_values({name: value}).values
    broken = simulate(golden.model, values, golden.dataset(0.02, seed=31))
    (reason,) = judge(estimate, prediction, simulation=broken).reasons
    assert words in reason


def thrice(simulation):
    """A simulation with each stretch three times."""
    def repeated(errors):
        return replace(errors, path=np.tile(errors.path, (3, 1, 1)))
    return replace(
        simulation, starts=np.tile(simulation.starts, 3),
        measured=np.tile(simulation.measured, (3, 1, 1)),
        **{name: repeated(getattr(simulation, name)) for name in (
            'candidate', 'prior', 'coasting')})


def astray(simulation, count, factor=1.0):
    """Three times as many stretches, some of which run away, others further off by a factor."""
    simulation = thrice(simulation)
    path = simulation.measured + factor * (simulation.candidate.path - simulation.measured)
    path[:count, -1] = np.nan
    position = np.full(len(simulation.joint_names), np.inf)
    return replace(simulation, candidate=replace(
        simulation.candidate, path=path, diverged=count, position=position))


def test_one_stretch_of_many_that_runs_away_is_a_remark(estimate, prediction, simulation):
    verdict = judge(estimate, prediction, simulation=astray(simulation, 1))
    assert verdict.committable
    assert any('1 of ' in remark and 'diverge' in remark for remark in verdict.remarks)


def test_more_than_one_in_twenty_that_run_away_is_the_reason(estimate, prediction, simulation):
    (reason,) = judge(estimate, prediction, simulation=astray(simulation, 2)).reasons
    assert '2 of 33 stretches diverge; with the prior none does' in reason


def test_the_stretches_that_do_not_run_away_are_compared(estimate, prediction, simulation):
    prior, candidate = simulation.prior.position, simulation.candidate.position
    factor = 3.0 * float(np.max(prior / candidate))
    worse = astray(simulation, 1, factor)
    # Only where the prior beats a constant velocity do the two decide anything.
    path = worse.measured + 1e3 * (worse.coasting.path - worse.measured)
    worse = replace(worse, coasting=replace(worse.coasting, path=path))
    (reason,) = judge(estimate, prediction, simulation=worse).reasons
    assert 'as far from the measured motion as the prior' in reason


def test_where_the_prior_diverges_too_the_estimate_is_not_blamed(
    estimate, prediction, simulation
):
    gone = replace(simulation.candidate, diverged=3, position=np.full(3, np.inf))
    both = replace(simulation, candidate=gone, prior=gone)
    assert judge(estimate, prediction, simulation=both).committable


def test_an_evaluation_brings_all_evidence_together(golden, estimate, folds):
    held_out = HeldOut(golden.problem(0.02, seed=31), golden.dataset(0.02, seed=31))
    found = evaluate(estimate, golden.problem(0.02), held_out, folds=folds)
    assert found.verdict.committable
    assert not found.training.held_out
    assert found.held_out.held_out
    data = found.to_json()
    assert data['folds']['folds'] == 3
    assert data['simulation']['stretches'] == len(found.simulation.starts)


def test_data_that_cannot_be_simulated_is_a_remark(golden, estimate):
    short = HeldOut(golden.problem(0.02, seed=31), golden.dataset(0.02, seed=31, samples=40))
    found = evaluate(estimate, golden.problem(0.02), short)
    assert found.simulation is None
    assert any(r.startswith('Nothing was simulated: ') for r in found.verdict.remarks)
