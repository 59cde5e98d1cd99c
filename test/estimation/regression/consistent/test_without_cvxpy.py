"""cvxpy is loaded for constraints of one's own, and for nothing else that an ordinary fit does."""

import subprocess
import sys

import pytest

from support import TESTS
from support.report_runs import finished_run
from sysid_ros.cli.exit_codes import ExitCode

FIT = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] == 'cvxpy':
            raise ModuleNotFoundError(f'{name} is blocked', name=name)

sys.meta_path.insert(0, Blocked())
import sysid_ros
apart = ('sysid_ros.nodes', 'sysid_ros.ros2_command', 'sysid_ros.msg', 'sysid_ros.srv',
         'sysid_ros.action', 'sysid_ros.lib', 'sysid_ros.studio.page')
for module in pkgutil.walk_packages(sysid_ros.__path__, 'sysid_ros.', onerror=lambda name: None):
    if not module.name.startswith(apart):
        importlib.import_module(module.name)
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from support.golden_problems import golden
problem = golden('arm').problem(0.5, seed=1)
for name in ('entropic', 'lmi', 'log_cholesky'):
    print(name, REGRESSION_ESTIMATORS[name]().fit(problem).status.name, flush=True)
REGRESSION_ESTIMATORS['lmi'](constraints=lambda theta, parameters: []).fit(problem)
"""


@pytest.mark.slow
def test_only_constraints_of_ones_own_ask_for_cvxpy():
    finished = subprocess.run(
        [sys.executable, '-c', FIT, str(TESTS)],
        text=True, capture_output=True)
    converged = ['entropic CONVERGED', 'lmi CONVERGED', 'log_cholesky CONVERGED']
    assert finished.stdout.splitlines() == converged, finished.stderr
    assert finished.stderr.endswith('ModuleNotFoundError: cvxpy is blocked\n')


@pytest.mark.slow
def test_an_ordinary_fit_leaves_cvxpy_unloaded(tmp_path):
    fit = (
        'import sys\n'
        'from sysid_ros.cli.main import main\n'
        f'code = main(["fit", {str(finished_run().parent / "settings.yaml")!r}, "--holdout", '
        f'"0.25", "-q", "-o", {str(tmp_path / "run")!r}])\n'
        'print(code, sorted(name for name in sys.modules if name.startswith("cvxpy")))')
    finished = subprocess.run([sys.executable, '-c', fit], text=True, capture_output=True)
    assert finished.stdout == f'{int(ExitCode.OK)} []\n', finished.stderr
