"""Whether the parameters before a fit explain a recording as well as any others could."""

from __future__ import annotations

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.objection import Objection
from sysid_ros.evaluation.prediction import TorquePrediction

# Error beyond which a description explains nothing, whatever a fit makes of it.
_EXPLAINED = 0.1
# Part of the prior's error that a fit may take off the rows it was fitted to by chance. More rows
# leave less of it to chance, but so much, if nothing of it is left on others, is none in any case.
_CHANCE = 0.2


def nothing_to_gain(
    estimate: Estimate, training: TorquePrediction | None
) -> Objection | None:
    """What to say of a fit that gained little over a good description, and nothing on other data.

    Args:
        estimate: The fit, which is no better than the prior on data that it has not seen.
        training: Its errors on the rows it was fitted to, and those of the prior.

    Returns:
        The objection; None where the fit gained something, or the description is a poor one.
    """
    if training is None or not estimate.status.ok:
        return None
    before, after = training.prior.relative_error, training.candidate.relative_error
    if not before < _EXPLAINED or after < (1.0 - _CHANCE) * before:
        return None
    return Objection(
        f'It predicts {training.all_of_it} no better than the prior, which explains this recording '
        f'as well as any parameters do ({100 * after:.2f} % off against {100 * before:.2f} %): '
        'there is nothing to gain from it.',
        'Keep the description. What it leaves of the error, no parameter of this model explains; '
        'another joint term may, and faster and wider motion tells more.')
