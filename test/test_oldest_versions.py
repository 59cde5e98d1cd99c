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


def lower_bound(requirement):
    """The version that a requirement asks for at least, or alone; specifiers have no order."""
    found, = [each for each in requirement.specifier if each.operator in ('>=', '==')]
    return Version(found.version)


def promised():
    """Lower bounds in setup.cfg, of what runs, demonstrates and tests."""
    config = ConfigParser()
    config.read(PROJECT / 'setup.cfg', encoding='utf-8')
    lines = config.get('options', 'install_requires')
    for extra in ('demo', 'test'):
        lines += config.get('options.extras_require', extra)
    requirements = [Requirement(line) for line in lines.split('\n') if line]
    return {canonicalize_name(each.name): lower_bound(each) for each in requirements}


def tried():
    """Versions in constraints-oldest.txt."""
    lines = (PROJECT / 'constraints-oldest.txt').read_text(encoding='utf-8').splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith('#')]
    return {canonicalize_name(each.name): lower_bound(each) for each in requirements}


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


def of_ubuntu():
    """Versions in constraints-jazzy.txt: apt's, and those of the environment over it."""
    text = (PROJECT / 'constraints-jazzy.txt').read_text(encoding='utf-8')
    for part in text.split('# Over it'):
        pins = [Requirement(line) for line in part.splitlines() if '==' in line]
        yield {canonicalize_name(pin.name): str(lower_bound(pin)) for pin in pins}


def test_over_ubuntus_versions_lies_what_the_package_needs():
    apt, over = of_ubuntu()
    config = ConfigParser()
    config.read(PROJECT / 'setup.cfg', encoding='utf-8')
    for line in config.get('options', 'install_requires').split('\n')[1:]:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        assert requirement.specifier.contains((apt | over)[name]), requirement


def test_what_apts_packages_are_compiled_for_is_not_covered():
    apt, over = of_ubuntu()
    assert {'numpy', 'scipy', 'matplotlib', 'pin', 'coal'} <= apt.keys() - over.keys()
    assert Version(apt['numpy']) < Version('2')
