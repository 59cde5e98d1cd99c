"""What the summary of a fit says beside its tables."""

from __future__ import annotations

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.report.summary import summary


def evaluated(noise):
    golden = simulated.golden('arm')
    problem = golden.problem(noise)
    return evaluate(make_estimator('entropic').fit(problem), problem)


def test_it_says_how_many_base_parameters_are_known_and_the_json_too():
    shares = []
    for noise in (0.001, 0.3):
        evaluation = evaluated(noise)
        deviation = evaluation.estimate.base_standard_deviation()
        relative = deviation / abs(evaluation.estimate.base_values)
        well, barely = int((relative <= 0.1).sum()), int((relative <= 0.3).sum())
        text = summary(evaluation, ())
        assert f'of {len(relative)} base parameters {well} are known to 10 %' in text
        assert f'{barely} to 30 %' in text
        assert evaluation.to_json()['base_parameters'] == {
            'sought': len(relative), 'known_to_10_percent': well, 'known_to_30_percent': barely}
        shares.append((well, barely))
    assert shares[0][0] > shares[1][0]
    assert shares[1][0] < shares[1][1]


def test_it_says_nothing_of_what_a_failed_fit_knows():
    evaluation = evaluated(0.01)
    object.__setattr__(
        evaluation, 'estimate', evaluation.estimate.with_status(Status.ITERATION_LIMIT))
    assert 'are known to' not in summary(evaluation, ())
