"""What the field has a word for is called by it: a reader searches for the words he knows."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Names that are not to come back, and the words to use.
EVERYWHERE = {
    'Amounts': 'BodyParameters',
    'CollocatedLeastSquares': 'CollocationEstimator',
    'Course': 'InputTrajectory, or LinearisedSegment',
    'DiscreteLeastSquares': 'MaximalCoordinatesEstimator',
    'DrivenCourse': 'DrivenTrajectory',
    'HandedOver': 'RevertedParameters',
    'Machine': 'MechanismArrays',
    'Makeup': 'ParameterMap',
    'Reach': 'PieceSamples',
    'SimulatedLeastSquares': 'ShootingEstimator',
    'Sought': 'FreeParameters',
    'Stretch': 'Segment',
    'Told': 'QuadraticModel',
    'UnsaidLoad': 'UndeclaredLoad',
    'Watchdog': 'MotionMonitor',
    'amounts': 'body_parameters',
    'bent_along': 'second_derivative_along',
    'by_push': 'by_interval_torque',
    'carry_out': 'fit_job',
    'clear_pile': 'clear_tables',
    'collected_information': 'data_information',
    'courses': 'trajectories',
    'differentiate_torque': 'rnea_derivatives',
    'foretell': 'predict',
    'hand_over': 'add_to_parent, or what it computes',
    'held_at': 'frozen_at',
    'keep_prior': 'revert_to_prior',
    'kept_robot': 'stored_robot',
    'look_along': 'evaluate_rows',
    'look_around': 'evaluate_state',
    'makeup': 'parameter_map',
    'place_body': 'body_forward_kinematics',
    'parameters_told': 'effective_parameters',
    'pick_rows': 'coupled_rows',
    'push_square': 'add_outer_product',
    'resting_place': 'neutral_configuration',
    'settled_noise': 'converged_noise',
    'silent_terms_kept': 'silent_terms_at_prior',
    'sought_parameters': 'free_parameters_of',
    'speed_up': 'rnea_derivatives_forward',
    'stiffen': 'fill_geometric_stiffness',
    'take_off': 'schur_complement',
    'take_off_tile': 'update_tile',
    'told_apart': 'well_conditioned',
    'unbent': 'unbounded',
    'unsaid_load': 'undeclared_load',
    'with_told_constants': 'fix_weak_constants',
}
# Not names of functions, classes and modules; variables and settings may be called so.
DEFINED = {
    'balance': 'discrete_euler_lagrange, or what it computes',
    'bend': 'second_derivative, or hessian_root',
    'bent': 'second_order, or nonlinear',
    'carry': 'what it computes',
    'course': 'trajectory, or segment',
    'march': 'rollout',
    'place': 'forward_kinematics, or placement',
    'room': 'work',
    'sought': 'free_parameters',
    'watch': 'check, update, or monitor',
    'weigh': 'mass_matrix_and_bias, or scale_rows',
}
# Not names of functions and classes, private ones included.
VERBS = {
    'kept': 'retained, saved, or exact',
    'look': 'evaluate, check, or update',
    'settle': 'converge, or solve',
    'told': 'determined, or what it returns',
    'untold': 'undetermined',
    'walk': 'forward_pass, or read_records',
}
MODULES = DEFINED | VERBS | {
    'digest': 'source_digest of numerics/jit',
    'entropic': 'log_det',
    'watchdog': 'monitor',
}
# Words that are plain elsewhere: a follower may be left no room, and a robot may stand.
MECHANICS = {
    'bend_up': 'da_dq',
    'course': 'trajectory, or segment',
    'feel': 'what it computes',
    'flow': 'momenta',
    'look': 'evaluate',
    'march': 'rollout',
    'room': 'work',
    'stand': 'forward_kinematics',
    'weigh': 'mass_matrix_and_bias',
}
# Of rows and parameters.
MASKS = {'kept': 'determined, inliers, or significant', 'told': 'determined, or shown'}
FOLDERS = {
    'sysid_ros/mechanics/': MECHANICS | {
        'gather': 'project_to_joints', 'inwards': 'backward_pass',
        'outwards': 'forward_pass', 'swing': 'axis_second_rate', 'swirl': 'da_dv',
        'swung': 'what it is the product of'},
    'sysid_ros/estimation/': MECHANICS,
    'sysid_ros/estimation/online/': MASKS,
    'sysid_ros/estimation/regression/': MASKS,
    'sysid_ros/estimation/trajectory/': MASKS | {
        'sought': 'free_parameters', 'stretch': 'segment', 'stretches': 'segments'},
}
# Buffers that kernels write into, such as TreeRoom and tree_room.
BUFFER = re.compile(r'[A-Z]\w*Room|\w+_room|room_for')
# What docstrings say in place of what a name is: a reader does not know where "there" is.
ELSEWHERE = re.compile(r'(?m)^ *(?:\w+: )?(?:As there|Likewise)\b')
# First lines that point to another name in place of saying what is computed.
POINTS = re.compile(
    r'(?m)^ *r?"""(?:The same(?:[.,]| (?:along|as|by|for|from|in|of|where|with|without)\b)'
    r'|As (?:(?:in|for) )?:|As in |Like )|^ *r?""".*\bin the same way\b')
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ('sysid_ros', 'test', 'benchmarks', 'examples')
    for path in (ROOT / folder).rglob('*.py')
    # Interfaces are generated.
    if path.relative_to(ROOT).parts[1] not in ('msg', 'srv', 'action'))


def private_words(source, path):
    """Sentences about names that the field has other words for; comments and texts are free."""
    banned = dict(EVERYWHERE)
    for folder, words in FOLDERS.items():
        if path.startswith(folder):
            banned |= words
    module = Path(path).stem
    if module in MODULES:
        yield f'{path}: {module} is not a word of the field; use {MODULES[module]}'
    before = ''
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.NAME:
            before = token.string
            continue
        defined, before = before in ('def', 'class'), token.string
        # A test's name is a sentence.
        defined &= not token.string.startswith('test_')
        name = token.string.removeprefix('_')
        word = banned.get(name)
        if defined:
            word = word or DEFINED.get(token.string) or VERBS.get(name)
        if ('room' in banned or defined) and BUFFER.fullmatch(name):
            word = name.replace('Room', 'Workspace').replace('room', 'workspace')
        if word is not None:
            yield f'{path}:{token.start[0]}: {token.string} is not a word of the field; use {word}'


@pytest.mark.parametrize('path', SOURCES)
def test_a_docstring_says_itself_what_a_name_is(path):
    text = (ROOT / path).read_text(encoding='utf-8')
    assert not ELSEWHERE.findall(text), 'say what it is, or name where that is said'
    assert not POINTS.findall(text), 'say what is computed'


@pytest.mark.parametrize(
    ('line', 'found'),
    [
        ('        horizon: As there.', True),
        ('    Likewise of the other.', True),
        ('    substeps: As for :class:`Shooting`.', False),
        ('    as there are processors', False),
    ],
)
def test_a_reference_to_nowhere_is_found(line, found):
    assert bool(ELSEWHERE.search(line)) == found


@pytest.mark.parametrize(
    ('line', 'found'),
    [
        ('The same by discrete mechanics.', True),
        ('As :func:`_delay`, from some rows.', True),
        ('As for :class:`Shooting`, with friction.', True),
        ('Like :meth:`at`.', True),
        ("A law's slope, in the same way.", True),
        ('The same problem with more nodes.', False),
        ('As many steps as are stable.', False),
        ('Likelihood of the residuals.', False),
    ],
)
def test_a_first_line_that_points_elsewhere_is_found(line, found):
    assert bool(POINTS.search(f'    """{line}"""')) == found


@pytest.mark.parametrize('path', SOURCES)
def test_names_are_those_of_the_field(path):
    assert not list(private_words((ROOT / path).read_text(encoding='utf-8'), path))


@pytest.mark.parametrize(
    ('path', 'source', 'word'),
    [
        ('sysid_ros/runs/fit.py', 'def carry_out(job): ...', 'fit_job'),
        ('test/test_fit.py', 'result = problem.courses[0]', 'trajectories'),
        ('sysid_ros/mechanics/tree.py', 'def _weigh(model, work): ...', 'mass_matrix_and_bias'),
        ('sysid_ros/mechanics/tree.py', 'class TreeRoom(NamedTuple): ...', 'TreeWorkspace'),
        ('sysid_ros/estimation/rows.py', 'solve(room=tree_room(model))', 'tree_workspace'),
        ('sysid_ros/estimation/trajectory/problem.py', 'len(problem.stretches)', 'segments'),
        ('sysid_ros/recording/live.py', 'def watch(self): ...', 'check, update, or monitor'),
        ('sysid_ros/cli/fit.py', 'class FitRoom: ...', 'FitWorkspace'),
        ('sysid_ros/excitation/watchdog.py', 'x = 1', 'monitor'),
        ('sysid_ros/nodes/activation.py', 'def _look(self): ...', 'evaluate, check, or update'),
        ('sysid_ros/estimation/regression/rows.py', 'told = size > 0.0', 'determined, or shown'),
        ('sysid_ros/mechanics/tree.py', 'gather(coupling, pairs)', 'project_to_joints'),
    ],
)
def test_a_private_word_is_found_with_the_one_to_use(path, source, word):
    *_, found = private_words(source, path)
    assert found.endswith(f'use {word}')


@pytest.mark.parametrize(
    ('path', 'source'),
    [
        ('sysid_ros/excitation/safety/limits.py', 'room = upper - lower'),
        ('sysid_ros/recording/processing/align.py', 'stretches = len(intervals)'),
        ('sysid_ros/nodes/monitor.py', 'watch = settings.watch'),
        ('sysid_ros/release/store.py', 'kept = content.kept'),
        ('sysid_ros/mechanics/tree.py', '# Limits that leave no room, and a look at the course.'),
        ('sysid_ros/mechanics/tree.py', "raise ModelError('the course does not say')"),
    ],
)
def test_plain_english_is_no_private_word(path, source):
    assert not list(private_words(source, path))
