"""The simulated arm for the tests of this folder."""

import runpy
from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def simulated_arm():
    """``simulated_arm(seed, ...)``: an arm with known parameters, motion and torque."""
    return runpy.run_path(str(Path(__file__).parents[1] / 'simulated_arm.py'))['SimulatedArm']
