"""Random robots for the tests of this folder."""

import runpy
from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def random_urdf():
    """``random_urdf(seed, joints, ...)``: text of a random valid description."""
    factory = Path(__file__).parents[1] / 'robot_factory.py'
    return runpy.run_path(str(factory))['random_urdf']


@pytest.fixture(scope='session')
def random_mjcf():
    """``random_mjcf(seed, bodies)``: text of a random valid MJCF."""
    factory = Path(__file__).parents[1] / 'robot_factory.py'
    return runpy.run_path(str(factory))['random_mjcf']
