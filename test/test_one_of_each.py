"""Mechanics and numerics that are to be written once are."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / 'sysid_ros'
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text(encoding='utf-8')
    for path in sorted(PACKAGE.rglob('*.py'))
    if path.relative_to(PACKAGE).parts[0] not in {'msg', 'srv', 'action'}}


def compiled_functions(source):
    """Functions of a module that are compiled."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
                'njit' in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node


def calls_of(function):
    return {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def kinematics_of_its_own(source):
    """Compiled forward kinematics that are not those of the tree, called for each body."""
    return [
        function.name for function in compiled_functions(source)
        if function.name.endswith('forward_kinematics')
        and not calls_of(function) & {'body_forward_kinematics', '_body_forward_kinematics'}]


def test_forward_kinematics_of_trees_are_written_twice_plain_and_in_vector_lanes():
    written = {
        module for module, source in SOURCES.items() if kinematics_of_its_own(source)}
    assert written == {
        'mechanics/tree/forward_kinematics.py',
        'mechanics/regressor/regressor_kernels.py'}


def test_forward_kinematics_that_are_written_again_are_found():
    own = '@njit(**INSIDE)\ndef forward_kinematics(q):\n    turn(q)'
    assert kinematics_of_its_own(own) == ['forward_kinematics']
    assert not kinematics_of_its_own(own.replace('turn', 'body_forward_kinematics'))


def is_diagonal(node):
    """Whether an expression is an entry of a diagonal, ``a[..., i, i]``."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)):
        return False
    *_, row, column = node.slice.elts
    return isinstance(row, ast.Name) and ast.dump(row) == ast.dump(column)


def takes_pivots(function):
    """Whether a function divides by entries of a diagonal, or takes their roots."""
    divisors = [
        node.right if isinstance(node, ast.BinOp) else node.value for node in ast.walk(function)
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div)]
    roots = [node for node in ast.walk(function)
             if isinstance(node, ast.Call) and ast.unparse(node.func) == 'np.sqrt']
    return any(is_diagonal(inner) for node in divisors + roots for inner in ast.walk(node))


def loops_within(node):
    """How deep loops are nested."""
    return max((
        loops_within(child) + isinstance(child, ast.For) for child in ast.iter_child_nodes(node)
    ), default=0)


def factorisations(source):
    """Compiled functions that are factorisations by their shape: pivots, within three loops."""
    return [function.name for function in compiled_functions(source)
            if takes_pivots(function) and loops_within(function) >= 3]


def test_dense_factorisations_are_compiled_in_numerics_alone():
    found = {
        (module, name) for module, source in SOURCES.items() for name in factorisations(source)}
    assert ('numerics/dense.py', 'lu') in found
    assert {each for each in found if not each[0].startswith('numerics/')} == {
        # Projected Gauss-Seidel, whose sweeps divide by a diagonal and factor nothing.
        ('mechanics/dry_friction_step.py', '_solve_dry_friction')}


def test_a_factorisation_is_found_by_its_shape():
    source = (
        '@njit\ndef decompose(a):\n for i in range(3):\n  for j in range(i, 3):\n'
        '   for k in range(3):\n    a[j, k] -= a[i, k] * a[j, i] / a[i, i]')
    assert factorisations(source) == ['decompose']
    assert not factorisations(source.replace('a[i, i]', 'a[i, j]'))
    assert not factorisations(source.replace('@njit\n', ''))


def test_the_smooth_coulomb_law_is_in_one_file():
    assert [module for module, source in SOURCES.items() if 'np.tanh(' in source] == [
        'mechanics/joint_terms/coulomb.py']
