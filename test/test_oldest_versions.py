"""What is promised to be the oldest supported version is what `make test-oldest` installs."""

from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = Path(__file__).resolve().parents[1]
# Distributions ship these in versions that PyPI does not have.
OLDER_IN_DISTRIBUTIONS = {'pin', 'xacro'}


def promised():
    """Lower bounds in setup.cfg, of what runs, demonstrates and tests."""
    config = ConfigParser()
    config.read(PROJECT / 'setup.cfg', encoding='utf-8')
    lines = config.get('options', 'install_requires')
    for extra in ('demo', 'test'):
        lines += config.get('options.extras_require', extra)
    requirements = [Requirement(line) for line in lines.split('\n') if line]
    return {
        canonicalize_name(each.name): Version(next(iter(each.specifier)).version)
        for each in requirements
    }


def tried():
    """Versions in constraints-oldest.txt."""
    lines = (PROJECT / 'constraints-oldest.txt').read_text(encoding='utf-8').splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith('#')]
    return {
        canonicalize_name(each.name): Version(next(iter(each.specifier)).version)
        for each in requirements
    }


@pytest.mark.parametrize('name', sorted(promised()))
def test_the_oldest_version_promised_is_the_one_that_is_tried(name):
    bound, version = promised()[name], tried()[name]
    assert version >= bound
    if name not in OLDER_IN_DISTRIBUTIONS:
        assert version.release[:len(bound.release)] == bound.release, (
            f'{name}: {bound} is promised, {version} is tried')


def test_the_oldest_set_is_that_of_pinocchio_3_and_numpy_1_26():
    assert tried()['pin'].major == 3
    assert tried()['numpy'].release[:2] == (1, 26)
