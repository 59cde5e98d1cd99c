"""The house rules that hold for every module, and that the checks themselves can fail."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS

PACKAGE = 'sysid_ros'
SOURCE = Path(__file__).resolve().parents[1] / PACKAGE
GENERATED = {'msg', 'srv', 'action'}
MAX_LINES = 400

# Bottom first. A part imports from the layers below its own, never from its neighbours.
LAYERS = (
    {'errors'},
    {'settings_errors'},
    {'data_folder', 'numerics', 'settings'},
    {'robot'},
    {'mechanics'},
    {'excitation', 'recording'},
    {'estimation'},
    {'evaluation'},
    {'release', 'report'},
    {'runs'},
    {'fleet'},
    {'api', 'demo', 'studio'},
    {'nodes', 'cli'},
    {'ros2_command'},
)
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}

# Runs with the module names as arguments; a module that needs ROS ends it with a traceback.
IMPORT_WITHOUT_ROS = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition('.')
        ros = top in ('rclpy', 'rpyutils', 'builtin_interfaces') or top.endswith(('_msgs', '_srvs'))
        interface = top == 'sysid_ros' and rest.split('.')[0] in ('msg', 'srv', 'action')
        if ros or interface or top.startswith(('rosidl', 'ament_')):
            raise ModuleNotFoundError(f'{name} is blocked: ROS is absent', name=name)

sys.meta_path.insert(0, Blocked())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def source_files():
    return sorted(
        path
        for path in SOURCE.rglob('*.py')
        if path.relative_to(SOURCE).parts[0] not in GENERATED
    )


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


MODULES = {module_name(path): path for path in source_files()}


def for_checkers_alone(node):
    """Whether a statement is the one whose imports only type checkers see."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING'


def nodes_of(source, *, checkers=True):
    """Every node of a module's source; those for type checkers alone may be left out."""
    pending = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if checkers or not for_checkers_alone(node):
            yield node
            pending += ast.iter_child_nodes(node)


def parts_imported(source, module, *, is_package=False):
    """Parts of the package that a module's source imports, anywhere in it, with the line."""
    # The package itself tells checkers where the public names are, and imports none.
    for node in nodes_of(source, checkers=module != PACKAGE):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ''
            if node.level:
                parents = module.split('.') + ([''] if is_package else [])
                base = '.'.join([*parents[: -node.level], *filter(None, [base])])
            targets = [f'{base}.{alias.name}' for alias in node.names]
        else:
            continue
        for target in targets:
            package, *rest = target.split('.')
            if package == PACKAGE and rest and not rest[0].startswith('__'):
                yield rest[0], node.lineno


def modules_imported(source, *, annotations=False):
    """Modules of the package that a module's source imports; those of annotations on request."""
    for node in nodes_of(source, checkers=annotations):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f'{node.module}.{alias.name}'
                name = inner if inner in MODULES else node.module
                if name in MODULES:
                    yield name


def import_violations(source, module, *, is_package=False):
    """Sentences about imports that do not point down."""
    own, *_ = [*module.split('.')[1:], None]
    for part, line in parts_imported(source, module, is_package=is_package):
        if own is None:
            yield f'{module}:{line} imports {part}; the package itself imports nothing'
        elif part in GENERATED:
            if own != 'nodes':
                yield f'{module}:{line} imports generated {part}, which only nodes may'
        elif part not in HEIGHT:
            yield f'{module}:{line} imports {part}, which has no layer: add it to LAYERS'
        elif part != own and HEIGHT[part] >= HEIGHT[own]:
            yield f'{module}:{line} imports {part}, which is not below {own}'


def undocumented(source, module):
    """Public names without a docstring, those of private classes and the module included."""
    tree = ast.parse(source)
    if not ast.get_docstring(tree):
        yield module

    def visit(body, prefix):
        for node in body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if not (node.name.startswith('_') or ast.get_docstring(node)):
                yield f'{prefix}.{node.name}'
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, f'{prefix}.{node.name}')

    yield from visit(tree.body, module)


def import_without_ros(*modules):
    return subprocess.run(
        [sys.executable, '-c', IMPORT_WITHOUT_ROS, *modules], capture_output=True, text=True
    )


@pytest.mark.parametrize('module', MODULES)
def test_imports_point_down_only(module):
    path = MODULES[module]
    is_package = path.name == '__init__.py'
    source = path.read_text(encoding='utf-8')
    assert not list(import_violations(source, module, is_package=is_package))


# Annotations that alone close a circle: where a module imports the other, which imports it for
# checkers' sake.
ANNOTATED_CIRCLES = {
    # A model is made of a tree and its loops, and to close loops is to make another model.
    (f'{PACKAGE}.robot.loop_closing', f'{PACKAGE}.robot.model'),
}


@cache
def imports_of_modules(*, annotations):
    """Modules that each module imports, itself and the names of the package left out."""
    return {
        module: frozenset(modules_imported(
            path.read_text(encoding='utf-8'), annotations=annotations and module != PACKAGE)
        ) - {module} for module, path in MODULES.items()}


@pytest.mark.parametrize('annotations', [False, True])
def test_modules_import_each_other_in_no_circle(annotations):
    imports = {**imports_of_modules(annotations=annotations)}
    assert sum(map(len, imports.values())) > 1000
    if annotations:
        for module, other in ANNOTATED_CIRCLES:
            imports[module] -= {other}
    assert set(TopologicalSorter(imports).static_order()) == MODULES.keys()


@pytest.mark.parametrize('circle', sorted(ANNOTATED_CIRCLES))
def test_a_circle_of_annotations_that_is_listed_is_there(circle):
    module, other = circle
    imports = imports_of_modules(annotations=True)
    with pytest.raises(CycleError):
        TopologicalSorter(imports).prepare()
    assert other in imports[module]
    assert other not in imports_of_modules(annotations=False)[module]


def test_a_circle_is_found_even_where_it_is_closed_inside_of_a_function():
    late = 'def late():\n    from sysid_ros.robot import inertia'
    imports = {
        f'{PACKAGE}.robot.inertia': set(modules_imported('from sysid_ros.robot.tree import x')),
        f'{PACKAGE}.robot.tree': set(modules_imported(late))}
    with pytest.raises(CycleError):
        TopologicalSorter(imports).prepare()


def test_an_annotation_is_no_import_but_counts_for_circles():
    source = 'if TYPE_CHECKING:\n    from sysid_ros.robot.tree import x'
    assert not list(modules_imported(source))
    assert list(modules_imported(source, annotations=True)) == [f'{PACKAGE}.robot.tree']


@pytest.mark.parametrize('module', MODULES)
def test_public_names_have_docstrings(module):
    assert not list(undocumented(MODULES[module].read_text(encoding='utf-8'), module))


@pytest.mark.parametrize('module', MODULES)
def test_a_file_is_short_enough_to_be_one_idea(module):
    assert len(MODULES[module].read_text(encoding='utf-8').splitlines()) <= MAX_LINES


def test_every_part_has_a_layer():
    parts = {module.split('.')[1] for module in MODULES if '.' in module}
    assert parts <= HEIGHT.keys()


def test_everything_but_the_nodes_imports_without_ros():
    others = (f'{PACKAGE}.nodes', f'{PACKAGE}.ros2_command')
    if find_spec('nicegui') is None:
        # An extra that few have; nothing else may need it.
        others += (f'{PACKAGE}.studio.page.',)
    modules = [module for module in MODULES if not module.startswith(others)]
    finished = import_without_ros(*modules)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize('module', ['rclpy', 'sensor_msgs.msg', 'std_srvs.srv', 'sysid_ros.msg'])
def test_the_check_without_ros_refuses_ros(module):
    finished = import_without_ros(module)
    assert finished.returncode != 0
    assert 'is blocked' in finished.stderr


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('robot.model', 'from sysid_ros.mechanics import regressor'),
        ('robot.model', 'import sysid_ros.mechanics.regressor.regressor'),
        ('robot.model', 'from sysid_ros import dynamics'),
        ('robot.model', 'from ..dynamics import regressor'),
        ('robot.model', 'from .. import dynamics'),
        ('robot.model', 'def late():\n    from sysid_ros.cli import main'),
        ('recording.bag', 'from sysid_ros.excitation import fourier'),
        ('release.urdf', 'from sysid_ros.report import figures'),
        ('cli.fit', 'from sysid_ros.nodes import estimator'),
        ('estimation.regression.ols', 'from ...evaluation import verdict'),
        ('cli.fit', 'from sysid_ros.msg import JointDynamics'),
        ('cli.fit', 'from sysid_ros.attic import something'),
        ('api.verbs', 'from sysid_ros.cli import fit'),
        ('robot.model', 'if TYPE_CHECKING:\n    from sysid_ros.runs import fit'),
    ],
)
def test_an_import_that_does_not_point_down_is_found(module, source):
    assert len(list(import_violations(source, f'{PACKAGE}.{module}'))) == 1


@pytest.mark.parametrize(
    ('module', 'source'),
    [
        ('robot.model', 'from sysid_ros.errors import ModelError'),
        ('robot.model', 'from .inertia import pseudo_inertia'),
        ('robot.model', 'from sysid_ros.robot.inertia import pseudo_inertia'),
        ('estimation.regression.ols', 'from ..estimate import Estimate'),
        ('cli.fit', 'from sysid_ros import __version__'),
        ('nodes.estimator', 'from sysid_ros.msg import JointDynamics'),
        ('robot.model', 'import numpy as np\nfrom rich.cli import main'),
    ],
)
def test_an_import_that_points_down_is_accepted(module, source):
    assert not list(import_violations(source, f'{PACKAGE}.{module}'))


def test_the_package_itself_names_its_parts_to_type_checkers_alone():
    source = 'from sysid_ros.api.run import Run'
    assert len(list(import_violations(source, PACKAGE, is_package=True))) == 1
    seen = f'if TYPE_CHECKING:\n    {source}'
    assert not list(import_violations(seen, PACKAGE, is_package=True))
    hidden = f'if not TYPE_CHECKING:\n    {source}'
    assert len(list(import_violations(hidden, PACKAGE, is_package=True))) == 1


def test_the_package_file_of_a_part_counts_as_the_part():
    found = import_violations('from ..cli import main', f'{PACKAGE}.robot', is_package=True)
    assert len(list(found)) == 1
    assert not list(import_violations('from .model import A', f'{PACKAGE}.robot', is_package=True))


def test_a_missing_docstring_is_found_at_every_level():
    source = 'class A:\n    def public(self): ...\n    def _private(self): ...\ndef b(): ...\n'
    assert list(undocumented(source, 'm')) == ['m', 'm.A', 'm.A.public', 'm.b']
    assert not list(undocumented('"""Module."""\ndef _private(): ...\n', 'm'))
    assert list(undocumented('"""Module."""\nclass _A:\n    def b(self): ...', 'm')) == ['m._A.b']


def names_in(module):
    """Names that a module of the package binds, wherever in it."""
    for node in nodes_of(MODULES[module].read_text(encoding='utf-8')):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def names_missing(source):
    """What a program takes from modules of the package, and is not there."""
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith(f'{PACKAGE}.'):
            for alias in node.names:
                name = f'{node.module}.{alias.name}'
                known = name in MODULES or (
                    node.module in MODULES and alias.name in set(names_in(node.module)))
                if not known and node.module.split('.')[1] not in GENERATED:
                    yield name


@pytest.mark.parametrize(
    'program', [
        path.relative_to(SOURCE.parent).as_posix() for folder in ('benchmarks', 'examples')
        for path in sorted((SOURCE.parent / folder).rglob('*.py'))])
def test_what_benchmarks_and_examples_take_from_the_package_is_there(program):
    assert not list(names_missing((SOURCE.parent / program).read_text(encoding='utf-8')))


def test_a_name_that_is_gone_is_found():
    source = f'from {PACKAGE}.errors import SysidError, NoError\nfrom {PACKAGE}.attic import x'
    assert set(names_missing(source)) == {f'{PACKAGE}.errors.NoError', f'{PACKAGE}.attic.x'}


def reached_into(source):
    """Lines that go around an object's interface, or keep values of others for a whole process."""
    weak = ('WeakKeyDictionary', 'WeakValueDictionary', 'WeakSet')
    for node in nodes_of(source):
        pry = isinstance(node, ast.Attribute) and node.attr == '__dict__'
        # Values that an object computes of itself are kept by CachesValues.
        pry |= isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith('vars(')
        pry |= isinstance(node, ast.Attribute) and (
            ast.unparse(node.value).startswith('vars(') and node.attr in ('update', 'setdefault'))
        cache = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(weak)
        if pry or cache:
            yield node.lineno


@pytest.mark.parametrize('module', sorted(MODULES.keys() - {f'{PACKAGE}.robot.cached'}))
def test_nobody_reaches_into_objects_of_others(module):
    assert not list(reached_into(MODULES[module].read_text(encoding='utf-8')))


def test_reaching_into_an_object_is_found():
    found = "moved.__dict__['parameters'] = 1\nknown = weakref.WeakKeyDictionary()\nvars(self)"
    assert sorted(reached_into(found)) == [1, 2]
    assert list(reached_into("header.__dict__.update({'scale': 1.0})")) == [1]
    assert list(reached_into("base = problem.__dict__.get('base')")) == [1]
    assert list(reached_into("vars(problem)['base'] = 1.0")) == [1]
    assert list(reached_into('vars(other).update(vars(self))')) == [1]
    assert not list(reached_into('dict(**vars(self.softness))'))


def test_liberties_of_the_compiler_are_named_in_one_file():
    stated = [
        str(path.relative_to(SOURCE)) for path in source_files()
        if re.search(r"'reassoc'|error_model", path.read_text(encoding='utf-8'))]
    assert stated == ['numerics/jit.py']


def test_the_files_that_the_page_of_the_house_names_are_there():
    root = Path(__file__).parents[1]
    named = re.findall(r'`([\w/]+\.(?:py|txt))`', (root / 'docs' / 'architecture.md').read_text())
    assert len(named) > 20
    missing = [name for name in named
               if not ((root / name).is_file() or (root / 'sysid_ros' / name).is_file())]
    assert not missing


def reached():
    """Modules that verbs, nodes and names in Python come to, through whatever imports."""
    pending = [module for module in MODULES
               if module.split('.')[1:2] in (['cli'], ['nodes'], ['api'], ['ros2_command'])]
    pending += [f'{PACKAGE}.estimation.trajectory.{name.rpartition(".")[0]}'
                for name in TRAJECTORY_ESTIMATORS.values()]
    found = set()
    while pending:
        module = pending.pop()
        if module in MODULES and module not in found:
            found.add(module)
            source = MODULES[module].read_text(encoding='utf-8')
            pending += modules_imported(source)
            # Programs of their own are named by their files.
            pending += [f'{module.rpartition(".")[0]}.{name}'
                        for name in re.findall(r"'(\w+)\.py'", source)]
    return found


def test_library_code_that_no_verb_reaches_is_listed_on_the_page_of_the_house():
    page = (SOURCE.parent / 'docs' / 'architecture.md').read_text(encoding='utf-8')
    section = page.partition('## Library code that no verb reaches')[2].partition('\n## ')[0]
    listed = set()
    for row in re.findall(r'(?m)^\| [^|]+ \| (`[^|]+) \|', section):
        folder = ''
        for name in re.findall(r'`([^`]+)`', row):
            path = SOURCE / (name if '/' in name else f'{folder}/{name}.py')
            folder = folder if '/' not in name else name.rpartition('/')[0]
            files = path.glob('*.py') if name.endswith('/') else [path]
            listed |= {module_name(file) for file in files if file.name != '__init__.py'}
    assert len(listed) > 20
    code = {module for module, path in MODULES.items() if path.name != '__init__.py'}
    assert listed == code - reached()
