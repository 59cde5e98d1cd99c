"""The names of the package itself: all there, typed, and loaded only when they are used."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sysid_ros

SOURCE = Path(sysid_ros.__file__).read_text(encoding='utf-8')


def names_for_checkers():
    """Names by module that type checkers read in the package's own file."""
    found = {}
    for node in ast.parse(SOURCE).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING':
            for statement in node.body:
                found |= {alias.name: statement.module for alias in statement.names}
    return found


def run(program):
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_public_is_what_checkers_see_and_what_is_found():
    seen = names_for_checkers()
    assert sorted(seen) == sysid_ros.__all__ == sorted(sysid_ros.__all__)
    for name, module in seen.items():
        assert getattr(sysid_ros, name) is getattr(importlib.import_module(module), name)


def test_every_public_name_is_listed_and_explained():
    assert {*sysid_ros.__all__, '__version__'} <= set(dir(sysid_ros))
    assert not {'pkgutil', 'importlib', 'TYPE_CHECKING'} & set(dir(sysid_ros))
    for name in sysid_ros.__all__:
        assert getattr(sysid_ros, name).__doc__


def test_a_name_that_does_not_exist_is_no_attribute():
    with pytest.raises(AttributeError, match="'sysid_ros' has no attribute 'fitt'"):
        _ = sysid_ros.fitt


def test_to_import_the_package_loads_no_library():
    program = 'import sys, sysid_ros; print([n for n in {} if n in sys.modules])'
    heavy = ('numpy', 'pydantic', 'pinocchio', 'numba', 'matplotlib', 'sysid_ros.api')
    assert run(program.format(heavy)) == '[]\n'
    assert run('from sysid_ros import SysidError; import sys; print("numpy" in sys.modules)'
               ) == 'False\n'


def test_sub_packages_are_found_beside_the_names():
    assert run('from sysid_ros import errors, Run; print(errors.SysidError.__name__)'
               ) == 'SysidError\n'


def test_the_page_names_every_public_name_with_an_example(project):
    page = (project / 'docs' / 'python.md').read_text(encoding='utf-8')
    code = '\n'.join(re.findall(r'```python\n(.*?)```', page, re.DOTALL))
    for name in sysid_ros.__all__:
        assert re.search(rf'^\| `{name}[`(]', page, re.MULTILINE), name
        assert f'si.{name}' in code, name
