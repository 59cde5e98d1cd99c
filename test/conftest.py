"""What all tests share: the surroundings they run in, the shared recordings, random numbers."""

import functools
import os
import runpy
from pathlib import Path
from types import SimpleNamespace

# Before any test module imports the libraries that read these.
os.environ['MPLBACKEND'] = 'Agg'
# Matrices of tests are small: BLAS threads that wait for a busy core cost more than they bring.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
# Each test process, a pytest-xdist worker too, has a domain of its own; 0 to 101 are the domains
# whose ports Linux leaves free.
os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 101)

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import sysid_ros  # noqa: E402

PROJECT = Path(__file__).resolve().parents[1]
SEED = 20_230_517


def pytest_report_header():
    """Says which build is tested: the source tree, an installed wheel or a colcon workspace."""
    return f'sysid_ros {sysid_ros.__version__} from {Path(sysid_ros.__file__).parent}'


@pytest.fixture(scope='session')
def project():
    """The root of the source tree."""
    return PROJECT


@pytest.fixture(scope='session')
def shared_data():
    """Folder of the real recordings: $SYSID_DATA, else ../shared/data beside the project."""
    named = os.environ.get('SYSID_DATA')
    folder = Path(named) if named else PROJECT.parent / 'shared' / 'data'
    if not folder.is_dir():
        pytest.skip(f'no recordings in {folder}; set SYSID_DATA to their folder')
    return folder


@pytest.fixture
def rng():
    """Random numbers that are the same for a test whichever tests ran before it."""
    return np.random.default_rng(SEED)


@pytest.fixture(scope='session')
def robot_factory():
    """What makes random robots, by name: test/robot_factory.py."""
    return runpy.run_path(str(PROJECT / 'test' / 'robot_factory.py'))


@pytest.fixture(scope='session')
def random_urdf(robot_factory):
    """``random_urdf(seed, joints, ...)``: text of a random valid description."""
    return robot_factory['random_urdf']


@pytest.fixture(scope='session')
def random_mjcf(robot_factory):
    """``random_mjcf(seed, bodies)``: text of a random valid MJCF."""
    return robot_factory['random_mjcf']


@pytest.fixture(scope='session')
def simulated_arm():
    """``simulated_arm(seed, ...)``: an arm with known parameters, motion and torque."""
    return runpy.run_path(str(PROJECT / 'test' / 'simulated_arm.py'))['SimulatedArm']


@pytest.fixture(scope='session')
def fits(tmp_path_factory, simulated_arm):
    """``fits.copy(data, name, **provenance)``: an estimate of ``fits.arm``, ready to commit."""
    helpers = runpy.run_path(str(PROJECT / 'test' / 'finished_fit.py'))
    arm = simulated_arm(1)
    made = helpers['make_fit'](tmp_path_factory.mktemp('fit'), arm)
    return SimpleNamespace(
        arm=arm, settings=made / 'settings.yaml', folder=made / 'fit',
        copy=functools.partial(helpers['copy_fit'], made),
        write_provenance=helpers['write_provenance'])
