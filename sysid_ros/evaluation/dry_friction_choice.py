r"""How dry friction acts, told by the motion that simulations fit: its sharpness and its laws.

Simulated motion needs a sign that is smoothed over a velocity :math:`v_0`. A wide one is easy to
search with and biases what is found, since friction of real drives, and that of simulators, is
sharper. So the search goes on from where it converged with half of it, and again (continuation), as
long as the likelihood gains by more than chance. Real drives have more dry friction at low speed
and under load, too, and less viscous friction at high speed. No law is quite that of a drive, or of
another simulator, so that any more would be likelier: one is added where it explains at least half
of the squared residuals that a sharper sign leaves. The sharpness is then sought anew, since each
seems to be needed where the other is missing.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.trajectory.friction_smoothing import largest_smoothing
from sysid_ros.estimation.trajectory.least_squares import TrajectoryLeastSquares
from sysid_ros.evaluation.simulated_stretch import SimulatedStretch
from sysid_ros.recording.processing.choice import Choice

# Least smoothing in [rad/s] or [m/s]; encoders tell no sharper sign from this one.
_LEAST = 1e-3
#: Key of the velocity over which the sign is smoothed.
SHARPNESS = 'coulomb_smoothing'
# Laws that friction may have beyond Coulomb's, by the key of the joints that have them.
_LAWS = ('stribeck_friction', 'power_friction', 'load_friction')

# Part of the squared residuals that a law has to explain, and that it has to promise to be tried.
_ENOUGH, _PROMISING = 0.5, 0.2


class DryFrictionChoice(NamedTuple):
    """Dry friction that the data chose.

    Attributes:
        measured: The recordings with it.
        values: Parameters that fit best with it, shape ``(p,)``.
        choices: What was chosen, and why.
    """

    measured: Measurements
    values: np.ndarray
    choices: tuple[Choice, ...]


def choose_dry_friction(
    measured: Measurements, stop: float, estimator: TrajectoryLeastSquares,
    open_sharpness: bool, open_laws: bool,
) -> DryFrictionChoice | None:
    """Choose how sharply dry friction changes its sign, and laws beyond Coulomb's.

    Args:
        measured: The recordings, with friction that is smooth enough to be searched with.
        stop: Where the data to fit ends, as a fraction of each recording; some seconds in the
            middle of it are looked at.
        estimator: What simulates them.
        open_sharpness: Whether the smoothing is to be chosen.
        open_laws: Whether laws are.

    Returns:
        None where there is no dry friction, or no fit converges.

    Raises:
        EstimationError: Motion cannot be simulated from the first guess.
    """
    if measured.setup.settings.robot is None or largest_smoothing(measured.model) == 0.0:
        return None
    stretch = SimulatedStretch.fitted(measured, stop, estimator)
    if stretch is None:
        return None
    laws: dict[str, Choice] = {}
    while True:
        sharper = _sharpened(stretch) if open_sharpness else stretch
        key, other = _with_law(stretch, sharper, laws) if open_laws else ('', None)
        if other is None:
            stretch = sharper
            break
        explained = sharper.explained(other)
        laws[key] = Choice(
            f'robot.terms.{key}', stretch.terms.coulomb_friction,
            f'it explains {100.0 * explained:.0f} % of the squared errors of simulated motion')
        stretch = other
    measured, chosen = stretch.measured, tuple(laws.values())
    if open_sharpness:
        # It may come from the first guess: a run that is repeated has to find it in its settings.
        width = largest_smoothing(measured.model)
        measured = measured.with_terms(stretch.changed_terms(**{SHARPNESS: width}))
        chosen = (Choice(
            f'robot.terms.{SHARPNESS}', width,
            f'over {0.5 * width:g} the likelihood gains nothing, or motion cannot be simulated'
            if 0.5 * width >= _LEAST else 'encoders tell no sharper sign from this one'), *chosen)
    return DryFrictionChoice(measured, stretch.found.values, chosen)


def _with_law(
    stretch: SimulatedStretch, sharper: SimulatedStretch, laws: Container[str]
) -> tuple[str, SimulatedStretch | None]:
    """The law that explains most, and the stretch with it; None where none explains enough.

    Args:
        stretch: Where friction is as smooth as it was searched with.
        sharper: The same with the sharpest sign that is likelier.
        laws: Those that are in it.
    """
    joints = stretch.terms.coulomb_friction
    found = {
        law: other for law in _LAWS
        if law not in laws and sharper.promise(**{law: joints}) > _PROMISING
        and (other := stretch.with_terms(**{law: joints})) is not None}
    if not found:
        return '', None
    best = max(found, key=lambda law: sharper.explained(found[law]))
    return best, found[best] if sharper.explained(found[best]) > _ENOUGH else None


def _sharpened(stretch: SimulatedStretch) -> SimulatedStretch:
    """The stretch with the smoothing halved as long as the likelihood gains."""
    width = largest_smoothing(stretch.measured.model)
    while 0.5 * width >= _LEAST:
        other = stretch.with_terms(**{SHARPNESS: 0.5 * width})
        if other is None or stretch.gain(other) <= 0.0:
            break
        stretch, width = other, 0.5 * width
    return stretch
