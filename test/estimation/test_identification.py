"""A settings file becomes a problem, and what is wrong with it is said."""

from __future__ import annotations

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.estimation.estimator import (
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    make_estimator,
    settings_of,
)
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.regression.consistent.body_extents import body_extents
from sysid_ros.estimation.regression.consistent.lmi import SemidefiniteLeastSquares
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.consistent.prior_strength import (
    CrossValidatedPrior,
    StrengthSearch,
)
from sysid_ros.estimation.regression.least_squares import OrdinaryLeastSquares
from sysid_ros.estimation.regression.robust.irls import ReweightedSemidefinite
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.settings import parse_settings

SETTINGS = """\
robot:
  urdf: arm.urdf
  terms: {armature: all}
recording:
  format: npz
  file: arm.npz
  joints: [waist, elbow, wrist]
  time: {array: t}
  position: {array: q}
  velocity: {array: v}
  acceleration: {array: a}
  effort: {array: tau}
processing: {differentiation: measured}
"""


@pytest.fixture
def folder(tmp_path):
    golden = simulated.golden('arm')
    (tmp_path / 'arm.urdf').write_text(simulated.arm_urdf())
    data = golden.dataset(0.01)
    np.savez(tmp_path / 'arm.npz', t=data.t, q=data.q, v=data.v, a=data.a, tau=data.tau)
    return tmp_path


def load(folder, text=''):
    path = folder / 'settings.yaml'
    path.write_text(SETTINGS + text)
    return Identification.load(path)


def problem_of(identification):
    return Measurement.read(FitSetup.of(identification)).problem()


def test_the_file_gives_the_rows_of_the_recording(folder):
    problem = problem_of(load(folder))
    golden = simulated.golden('arm')
    assert problem.parameters.names == golden.model.parameters.names
    np.testing.assert_allclose(problem.torque, golden.dataset(0.01).tau)
    assert problem.usable.all()
    assert problem.provenance['source'].endswith('arm.npz')


def test_the_parallel_filter_and_the_slowest_velocity_are_applied(folder):
    text = SETTINGS.replace(
        'measured}', 'measured, parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}')
    (folder / 'settings.yaml').write_text(text + 'fit: {minimum_velocity: [0.1, 0.2, 5.0]}\n')
    problem = problem_of(Identification.load(folder / 'settings.yaml'))
    assert problem.rate == pytest.approx(25.0)
    share = problem.usable.mean(axis=0)
    assert 0.5 < share[0] < 1.0
    assert share[2] < 0.2


def test_fixed_parameters_are_named_with_wildcards(folder):
    problem = problem_of(load(folder, 'fit: {fixed: ["upper.*", "*.armature"]}\n'))
    held = [name for name, free in zip(problem.parameters.names, problem.free, strict=True)
            if not free]
    assert len(held) == 13
    assert all(name.startswith('upper.') or name.endswith('.armature') for name in held)


def test_a_pattern_that_matches_nothing_is_refused(folder):
    with pytest.raises(ParameterError, match=r"no parameter matches.*'uper\.\*'"):
        problem_of(load(folder, 'fit: {fixed: ["uper.*"]}\n'))


@pytest.mark.parametrize('velocities', ['[0.1, 0.1]', '[0.1, 0.1, 0.1, 0.1]', '[]'])
def test_a_list_per_joint_of_the_wrong_length_is_refused(folder, velocities):
    identification = load(folder, f'fit: {{minimum_velocity: {velocities}}}\n')
    with pytest.raises(ConfigurationError, match=r'minimum_velocity.*wrong length.*allowed 3'):
        problem_of(identification)


@pytest.mark.parametrize(('text', 'words'), [
    ('fit: {estimater: ols}', r'fit\.estimater.*estimator'),
    ('fitt: {}', r'fitt.*fit'),
    ('fit: {prior_strength: 0}', 'prior_strength'),
    ('fit: {prior_strength: .nan}', 'prior_strength'),
    ('fit: {minimum_velocity: .inf}', 'minimum_velocity'),
    ('fit: {plausibility: {margin: 2.0}}', 'margin'),
    ('fit: {plausibility: {mass_fctor: 2.0}}', 'mass_factor'),
    ('fit: {plausibility: {shape_margin: 0.5}}', 'shape_margin'),
    ('fit: {plausibility: {size_factor: .nan}}', 'size_factor'),
    ('fit: {plausibility: {weighed_mass: -0.1}}', 'weighed_mass'),
    ('fit: {estimator: 3}', 'estimator'),
])
def test_a_setting_that_cannot_be_is_refused_by_name(folder, text, words):
    with pytest.raises(ConfigurationError, match=words):
        load(folder, text + '\n')


def test_an_unknown_estimator_is_refused_when_it_is_built(folder):
    identification = load(folder, 'fit: {estimator: olz}\n')
    with pytest.raises(ConfigurationError, match="'olz'.*Did you mean 'ols'"):
        identification.settings.fit.build()


def test_settings_reach_the_estimators_they_apply_to():
    settings = FitSettings(prior_strength=0.5, plausibility=Plausibility(mass_factor=2.0))
    entropic = settings.build().estimator
    assert isinstance(entropic, EntropicLeastSquares)
    assert entropic.prior_strength == 0.5
    assert entropic.plausibility.mass_factor == 2.0
    lmi = settings.build('lmi').estimator
    assert isinstance(lmi, SemidefiniteLeastSquares)
    assert lmi.prior_strength == 0.5
    assert settings.build('ols').estimator == OrdinaryLeastSquares()


def test_a_section_of_an_estimators_name_is_for_it_alone():
    settings = FitSettings.model_validate({
        'estimator': 'collocation', 'trajectory': {'huber': 4.0, 'estimate_noise': True},
        'collocation': {'huber': 4.0, 'max_iterations': 7}, 'shooting': {'horizon': 0.3}})
    collocation = settings.build_trajectory('collocation')
    assert (collocation.huber, collocation.max_iterations) == (4.0, 7)
    assert collocation.estimate_noise
    assert settings.old_spellings('collocation') == (
        'fit: {trajectory: {estimate_noise: True, huber: 4.0}} is an old spelling, which is read '
        'for now; write fit: {collocation: {estimate_noise: True, huber: 4.0}}.',)
    assert settings.old_spellings('shooting')[0].endswith(
        'write fit: {shooting: {estimate_noise: True}}.')
    assert not settings.old_spellings('lmi')
    # Another one that a command names takes of the short form what it has.
    shooting = settings.build_trajectory('shooting')
    assert (shooting.horizon, shooting.estimate_noise) == (0.3, True)


@pytest.mark.parametrize(('given', 'words'), [
    ({'estimator': 'shooting', 'trajectory': {'huber': 3.0}}, 'collocation: {huber: 3.0}'),
    ({'estimator': 'graph', 'trajectory': {'rule': 'midpoint'}}, 'variational: {rule: midpoint}'),
    ({'estimator': 'ols', 'prior_strength': 2.0}, 'ols has no such setting'),
    ({'estimator': 'irls', 'plausibility': {}}, 'irls has no such setting'),
    ({'estimator': 'ols', 'prior_strength': 'auto'}, 'found prior_strength: auto'),
    ({'estimator': 'recursive', 'prior_strength': 'auto'}, 'lmi, entropic, log_cholesky'),
    ({'estimator': 'collocation', 'prior_strength': 'auto'}, 'found prior_strength: auto'),
    ({'estimator': 'ols', 'strength_search': {'folds': 4}}, 'found strength_search'),
    ({'estimator': 'wls', 'trajectory': {'scheme': 'trapezoidal'}},
     'collocation: {scheme: trapezoidal}'),
    ({'estimator': 'entropic', 'trajectory': {'prior_strength': 0.2}}, 'found prior_strength'),
    ({'estimator': 'lmi', 'strength_search': {'folds': 4}}, 'write fit: {prior_strength: auto}'),
    ({'estimator': 'lmi', 'lmi': {'strength_search': {}, 'prior_strength': 1.0}},
     'strength_search, and prior_strength: 1.0'),
    ({'estimator': 'lmi', 'prior_strength': 2.0, 'lmi': {'prior_strength': 1.0}},
     'fit.prior_strength: a setting is given twice.*found 2.0; allowed 1.0, as fit.lmi.prior'),
    ({'estimator': 'lmi', 'plausibility': {'margin': 0.1}, 'lmi': {
        'plausibility': {'margin': 0.2}}}, 'fit.plausibility.margin'),
    ({'estimator': 'shooting', 'trajectory': {'horizon': 2.0}, 'shooting': {'horizon': 1.0}},
     'fit.horizon: a setting is given twice'),
])
def test_a_setting_that_the_chosen_estimator_does_not_have_is_refused(given, words):
    settings = FitSettings.model_validate(given)
    with pytest.raises(ConfigurationError, match=words):
        settings.require_estimator(settings.estimator)


@pytest.mark.parametrize('given', [
    {'estimator': 'ols', 'collocation': {'huber': 3.0}, 'lmi': {'prior_strength': 'auto'}},
    {'estimator': 'wls', 'trajectory': {'step': 0.01}, 'shooting': {'horizon': 1.0}},
    {'estimator': 'shooting', 'minimum_velocity': 0.02, 'collocation': {'huber': 3.0}},
    {'estimator': 'iv', 'reference_cutoff': 4.0, 'iv': {'reference_cutoff': 4.0}},
])
def test_sections_of_other_estimators_wait_for_these(given):
    settings = FitSettings.model_validate(given)
    settings.require_estimator(settings.estimator)


@pytest.mark.parametrize('name', [*REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS])
def test_every_key_of_a_section_is_a_setting_of_its_estimator(name):
    section = FitSettings.model_fields[name].annotation
    # A search and a fleet are put around an estimator.
    assert set(section.model_fields) - {'strength_search', 'fleet'} <= settings_of(name)


def test_a_key_means_the_same_in_a_section_of_its_own():
    flat = FitSettings.model_validate({
        'estimator': 'entropic', 'prior_strength': 'auto', 'strength_search': {'folds': 4},
        'plausibility': {'margin': 0.01}})
    own = FitSettings.model_validate({
        'estimator': 'entropic', 'entropic': {
            'prior_strength': 'auto', 'strength_search': {'folds': 4},
            'plausibility': {'margin': 0.01}}})
    assert own.build() == flat.build()
    assert own.plausible == flat.plausible == Plausibility(margin=0.01)
    # What a section says is for its estimator alone.
    assert own.build('lmi').estimator == SemidefiniteLeastSquares()
    assert flat.build('lmi') != own.build('lmi')


def test_keys_of_a_section_are_added_to_those_beside_it():
    settings = FitSettings.model_validate({
        'estimator': 'ols', 'plausibility': {'total_mass': 0.1}, 'prior_strength': 0.5,
        'lmi': {'plausibility': {'mass_factor': 2.0}, 'max_iterations': 9, 'prior_strength': 3.0}})
    # The settings name another one: its section counts for more.
    assert settings.build('lmi').estimator == make_estimator(
        'lmi', plausibility=Plausibility(total_mass=0.1, mass_factor=2.0), max_iterations=9,
        prior_strength=3.0)


def test_left_out_settings_are_the_estimators_own():
    assert FitSettings().build().estimator == EntropicLeastSquares()
    assert FitSettings(estimator='lmi').build().estimator == SemidefiniteLeastSquares()


def test_file_names_are_relative_to_the_settings_or_to_the_folder_given(folder, tmp_path):
    elsewhere = tmp_path / 'elsewhere'
    elsewhere.mkdir()
    (elsewhere / 'settings.yaml').write_text(SETTINGS)
    identification = Identification.load(elsewhere / 'settings.yaml', folder)
    assert len(problem_of(identification).torque) == 600


def test_without_a_robot_there_is_no_model(folder):
    text = SETTINGS[SETTINGS.index('recording:'):]
    (folder / 'settings.yaml').write_text(text)
    with pytest.raises(ConfigurationError, match='there is no robot'):
        Identification.load(folder / 'settings.yaml').model()


def test_another_recording_is_fitted_as_the_first(folder):
    first = load(folder, 'fit: {minimum_velocity: 0.3}\n')
    (folder / 'other.yaml').write_text(SETTINGS[SETTINGS.index('recording:'):])
    second = first.recording_of(Identification.load(folder / 'other.yaml'))
    problem = problem_of(second)
    np.testing.assert_array_equal(problem.usable, problem_of(first).usable)


def test_the_whole_way_from_a_file_to_an_estimate(folder):
    identification = load(folder)
    estimate = identification.settings.fit.build().fit(problem_of(identification))
    assert estimate.status.ok
    assert estimate.consistent
    assert estimate.residuals.relative_error == pytest.approx(0.01, rel=0.15)


@pytest.mark.parametrize(('margin', 'most'), [('1.0', 1.0), ('1.2', 1.44), ('null', np.inf)])
def test_the_shapes_of_the_description_bound_a_fit_as_the_settings_say(folder, margin, most):
    shape = ('<collision><origin xyz="0.15 0 0"/><geometry><box size="0.06 0.06 0.06"/></geometry>'
             '</collision></link>')
    hand = simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.05, 0.05, 0.05))
    drawn = simulated.arm_urdf().replace(
        simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12)),
        hand.removesuffix('</link>') + shape)
    (folder / 'arm.urdf').write_text(drawn)
    text = f'fit: {{estimator: lmi, plausibility: {{shape_margin: {margin}, tool_mass: 0}}}}\n'
    identification = load(folder, text)
    problem = problem_of(identification)
    estimate = identification.settings.fit.build().fit(problem)
    assert estimate.status.ok
    ellipsoid = body_extents(problem.model.robot)['hand'].ellipsoid
    # The torques are those of a larger hand.
    spread = ellipsoid.spread(estimate.parameters.inertial('hand'))
    assert spread <= most * (1.0 + 1e-5)
    assert spread > min(0.99 * most, 1.6)
    leans = any('hand inside of its shapes' in note for note in estimate.notes)
    assert leans == np.isfinite(most)


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky'])
def test_the_strength_of_the_prior_may_be_left_to_cross_validation(folder, name):
    text = (
        f'fit: {{estimator: {name}, prior_strength: auto, plausibility: {{mass_factor: 2.0}},\n'
        '      strength_search: {folds: 4, rule: minimum, strengths: [1, 0.1]}}\n'
    )
    estimator = load(folder, text).settings.fit.build().estimator
    assert isinstance(estimator, CrossValidatedPrior)
    assert estimator.estimator == make_estimator(name, plausibility=Plausibility(mass_factor=2.0))
    assert estimator.search == StrengthSearch(folds=4, rule='minimum', strengths=(0.1, 1.0))


@pytest.mark.parametrize('name', ['ols', 'wls', 'irls', 'iv'])
def test_estimators_without_a_prior_do_not_look_for_its_strength(folder, name):
    settings = load(folder, 'fit: {prior_strength: auto}\n').settings.fit
    assert settings.build(name).estimator == make_estimator(name)


def test_the_cut_off_of_the_reference_is_that_of_instrumental_variables(folder):
    settings = load(folder, 'fit: {reference_cutoff: 4.0, prior_strength: 2.0}\n').settings.fit
    assert settings.build('iv').estimator == make_estimator('iv', reference_cutoff=4.0)
    bounded = settings.build('log_cholesky').estimator
    assert bounded == make_estimator('log_cholesky', prior_strength=2.0)
    for name in REGRESSION_ESTIMATORS:
        settings.build(name)


@pytest.mark.parametrize(('text', 'key'), [
    ('prior_strength: atuo', 'fit.prior_strength'), ('prior_strength: 0', 'fit.prior_strength'),
    ('prior_strength: -1', 'fit.prior_strength'), ('reference_cutoff: 0', 'reference_cutoff'),
    ('strength_search: {rule: best}', 'strength_search.rule'),
    ('strength_search: {folds: 1}', 'strength_search.folds'),
    ('strength_search: {gap: -1}', 'strength_search.gap'),
    ('strength_search: {strengths: [1]}', 'strengths: there is nothing to choose from'),
])
def test_a_search_that_cannot_be_made_is_refused(folder, text, key):
    with pytest.raises(ConfigurationError, match=key):
        load(folder, f'fit: {{{text}}}\n')


def test_a_preset_fills_in_what_the_file_leaves_out_and_nothing_else(folder):
    text = SETTINGS.replace('processing: {differentiation: measured}', 'preset: constrained_robots')
    assert 'preset' in text
    (folder / 'settings.yaml').write_text(text)
    settings = Identification.load(folder / 'settings.yaml').settings
    processing, fit = settings.processing, settings.fit
    assert processing.differentiation == 'measured4'
    filters = processing.velocity_filter, processing.acceleration_filter, processing.torque_filter
    assert [(low_pass.cutoff, low_pass.order) for low_pass in filters] == [
        (18.0, 4), (15.0, 4), (33.0, 4)]
    assert processing.position_filter is None
    assert processing.parallel_filter.factor(1000.0) == 10
    assert isinstance(fit.build().estimator, ReweightedSemidefinite)


def test_every_key_of_a_preset_can_be_set_otherwise_or_taken_away(folder):
    text = SETTINGS.replace('processing: {differentiation: measured}', """preset: constrained_robots
processing:
  differentiation: central4
  velocity_filter: {cutoff: 12.0}
  acceleration_filter: null
  differentiate_filtered: true
fit: {prior_strength: 0.5}""")
    (folder / 'settings.yaml').write_text(text)
    settings = Identification.load(folder / 'settings.yaml').settings
    assert settings.processing.differentiation == 'central4'
    assert settings.processing.velocity_filter == LowPass(cutoff=12.0, order=4)
    assert settings.processing.acceleration_filter is None
    assert settings.processing.torque_filter == LowPass(cutoff=33.0)
    assert settings.fit.build().estimator == ReweightedSemidefinite(prior_strength=0.5)
    # What is kept of a run says the same again.
    kept = settings.model_dump(mode='json', exclude_unset=True)
    assert parse_settings(IdentificationSettings, kept, 'kept') == settings


@pytest.mark.parametrize(('text', 'words'), [
    ('preset: constrained_robot', "preset.*'constrained_robot'.*Did you mean 'constrained_robots'"),
    ('preset: 3', 'no such preset.*allowed constrained_robots'),
    ('preset: constrained_robots\nfit: {estimater: ols}', r'fit\.estimater.*estimator'),
])
def test_a_preset_that_is_not_there_is_refused_by_name(folder, text, words):
    with pytest.raises(ConfigurationError, match=words):
        load(folder, text + '\n')
