"""What all tests share: the surroundings they run in, the shared recordings, random numbers."""

import contextlib
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

# Before any test module imports the libraries that read these.
os.environ['MPLBACKEND'] = 'Agg'
# Matrices of tests are small: BLAS threads that wait for a busy core cost more than they bring.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import sysid_ros  # noqa: E402
from support import finished_fit, robot_factory  # noqa: E402
from support.simulated_arm import SimulatedArm  # noqa: E402
from sysid_ros.demo.node_processes import claim_domain  # noqa: E402
from sysid_ros.numerics.kernel_indexes import remove_unreadable_indexes  # noqa: E402
from sysid_ros.runs.middleware import loopback_variables  # noqa: E402

# Classes that compiled functions name may have been renamed since the tests ran the last time.
remove_unreadable_indexes()
# Each test process, a pytest-xdist worker too, has a domain of its own while it lives.
DOMAIN, DOMAIN_LOCK = claim_domain()
os.environ |= {'ROS_DOMAIN_ID': str(DOMAIN), **loopback_variables()}

PROJECT = Path(__file__).resolve().parents[1]
SEED = 20_230_517


@dataclass(frozen=True)
class Draws:
    """Random problems of a test.

    Attributes:
        seed: Of all of them.
        times: How many times as many as usual are drawn.
        folder: Where a problem is kept on which the test fails.
        test: Name of the test.
    """

    seed: int
    times: int
    folder: Path
    test: str

    def numbered(self, count):
        """Number and random numbers of each problem, ``count`` of them in a usual run."""
        for number in range(count * self.times):
            yield number, np.random.default_rng([self.seed, number])

    @contextlib.contextmanager
    def saved_on_failure(self, number, **arrays):
        """Keep what a problem consists of if the test fails on it, and say where."""
        try:
            yield
        except Exception as error:
            self.folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r'\W+', '-', f'{self.test} {self.seed} {number}').strip('-')
            np.savez(self.folder / f'{name}.npz', **arrays)
            error.add_note(
                f'Problem {number} of --random-seed {self.seed}, kept in '
                f'{(self.folder / name).relative_to(PROJECT)}.npz')
            raise


def pytest_addoption(parser):
    group = parser.getgroup('random problems')
    group.addoption(
        '--random-seed', type=int, default=SEED, help='seed of what tests draw (%(default)s)')
    group.addoption(
        '--random-times', type=int, default=0, metavar='N',
        help='run only tests that draw random problems, N times as many of them')
    group.addoption(
        '--random-seeds', type=int, default=1, metavar='N',
        help='with --random-times: run tests of one drawn problem with N seeds, from '
        '--random-seed on (%(default)s)')
    parser.getgroup('slow tests').addoption(
        '--slow-share', type=_share, metavar='I/N', help='of the files with tests that are marked '
        'slow run these tests of every N-th, from the I-th on (0/N to N-1/N), beside all others')


def _share(text):
    """First and step of a share, ``'I/N'``."""
    first, _, step = text.partition('/')
    share = int(first), int(step)
    if not 0 <= share[0] < share[1]:
        raise ValueError(text)
    return share


def pytest_report_header(config):
    """Says which build is tested (source tree, wheel, colcon workspace), on which kernels."""
    return [
        f'sysid_ros {sysid_ros.__version__} from {Path(sysid_ros.__file__).parent}',
        f'random seed {config.getoption("--random-seed")}; OPENBLAS_CORETYPE '
        f'{os.environ.get("OPENBLAS_CORETYPE", "as found")}, NUMBA_CPU_NAME '
        f'{os.environ.get("NUMBA_CPU_NAME", "as found")}',
    ]


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    if 'rng' in metafunc.fixturenames and option('--random-times'):
        first = option('--random-seed')
        seeds = range(first, first + option('--random-seeds'))
        metafunc.parametrize('rng', seeds, indirect=True, ids=[f'seed {seed}' for seed in seeds])


def pytest_collection_modifyitems(config, items):
    if config.getoption('--random-times'):
        random = [item for item in items if {'rng', 'draws'} & set(item.fixturenames)]
        config.hook.pytest_deselected(items=[item for item in items if item not in random])
        items[:] = random
    if share := config.getoption('--slow-share'):
        first, step = share
        slow = [item for item in items if item.get_closest_marker('slow')]
        # By files: those of one often share what takes long.
        files = list(dict.fromkeys(item.path for item in slow))
        left = {item for item in slow if files.index(item.path) % step != first}
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


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
def rng(request):
    """Random numbers that are the same for a test whichever tests ran before it."""
    return np.random.default_rng(
        getattr(request, 'param', request.config.getoption('--random-seed')))


@pytest.fixture
def draws(request):
    """Many random problems, each from a seed of its own, kept where a test fails on one."""
    return Draws(
        request.config.getoption('--random-seed'),
        max(request.config.getoption('--random-times'), 1),
        PROJECT / 'build' / 'random-failures', request.node.name)


@pytest.fixture(scope='session')
def random_urdf():
    """``random_urdf(seed, joints, ...)``: text of a random valid description."""
    return robot_factory.random_urdf


@pytest.fixture(scope='session')
def random_mjcf():
    """``random_mjcf(seed, bodies)``: text of a random valid MJCF."""
    return robot_factory.random_mjcf


@pytest.fixture(scope='session')
def simulated_arm():
    """``simulated_arm(seed, ...)``: an arm with known parameters, motion and torque."""
    return SimulatedArm


@pytest.fixture(scope='session')
def fits(tmp_path_factory, simulated_arm):
    """``fits.copy(data, name, **provenance)``: an estimate of ``fits.arm``, ready to commit."""
    arm = simulated_arm(1)
    made = finished_fit.make_fit(tmp_path_factory.mktemp('fit'), arm)
    return SimpleNamespace(
        arm=arm, settings=made / 'settings.yaml', folder=made / 'fit',
        copy=functools.partial(finished_fit.copy_fit, made),
        write_provenance=finished_fit.write_provenance, edit=finished_fit.edit_fit)
