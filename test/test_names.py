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
    'Course': 'InputTrajectory, or LinearisedSegment',
    'DrivenCourse': 'DrivenTrajectory',
    'Machine': 'MechanismArrays',
    'Makeup': 'ParameterMap',
    'Sought': 'FreeParameters',
    'Stretch': 'Segment',
    'Told': 'QuadraticModel',
    'amounts': 'body_parameters',
    'bent_along': 'second_derivative_along',
    'by_push': 'by_interval_torque',
    'carry_out': 'fit_job',
    'collected_information': 'data_information',
    'courses': 'trajectories',
    'foretell': 'predict',
    'keep_prior': 'revert_to_prior',
    'look_along': 'evaluate_rows',
    'look_around': 'evaluate_state',
    'makeup': 'parameter_map',
    'place_body': 'body_forward_kinematics',
    'push_square': 'add_outer_product',
    'sought_parameters': 'free_parameters_of',
    'speed_up': 'rnea_derivatives_forward',
    'unbent': 'unbounded',
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
    'settle': 'converge, or solve',
    'sought': 'free_parameters',
    'told': 'assemble_estimate, or determined',
    'watch': 'check, update, or monitor',
    'weigh': 'mass_matrix_and_bias, or scale_rows',
}
MODULES = DEFINED | {
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
    'hand_over': 'add_to_parent',
    'look': 'evaluate',
    'march': 'rollout',
    'room': 'work',
    'stand': 'forward_kinematics',
    'weigh': 'mass_matrix_and_bias',
}
FOLDERS = {
    'sysid_ros/mechanics/': MECHANICS,
    'sysid_ros/estimation/': MECHANICS,
    'sysid_ros/estimation/trajectory/': {
        'sought': 'free_parameters', 'stretch': 'segment', 'stretches': 'segments'},
}
# Buffers that kernels write into, such as TreeRoom and tree_room.
BUFFER = re.compile(r'[A-Z]\w*Room|\w+_room|room_for')
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ('sysid_ros', 'test', 'benchmarks', 'examples')
    for path in (ROOT / folder).rglob('*.py'))


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
            word = word or DEFINED.get(token.string)
        if ('room' in banned or defined) and BUFFER.fullmatch(name):
            word = name.replace('Room', 'Workspace').replace('room', 'workspace')
        if word is not None:
            yield f'{path}:{token.start[0]}: {token.string} is not a word of the field; use {word}'


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
        ('sysid_ros/mechanics/tree.py', '# Limits that leave no room, and a look at the course.'),
        ('sysid_ros/mechanics/tree.py', "raise ModelError('the course does not say')"),
    ],
)
def test_plain_english_is_no_private_word(path, source):
    assert not list(private_words(source, path))
