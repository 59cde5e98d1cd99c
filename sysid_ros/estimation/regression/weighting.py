"""Where every estimator with a prior begins: how much joints, and the prior, weigh."""

from __future__ import annotations

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import effective_noise


def require_prior(strength: float) -> None:
    """Refuse a prior without weight.

    Raises:
        ConfigurationError: The strength is not above zero.
    """
    if not strength > 0.0:
        raise ConfigurationError(
            'without a prior the unidentified directions are arbitrary',
            where='prior_strength', found=strength, allowed='a number above 0',
            fix='Leave prior_strength out for its default',
        )


def weighted_directions(problem: RegressionProblem) -> tuple[DataDirections, tuple[str, ...]]:
    """Directions that rows determine when joints are weighted by the noise of their residuals.

    Args:
        problem: Rows and prior.

    Returns:
        The directions, and a note when the noise levels did not settle.
    """
    method = WeightedLeastSquares()
    theta, _, iterations = method.iterate(problem)
    notes = () if iterations <= method.max_iterations else (
        f'The noise levels of the joints did not settle in {method.max_iterations} iterations; '
        'the weights of the joints are those of the last.',
    )
    return DataDirections(problem, effective_noise(problem, theta)), notes
