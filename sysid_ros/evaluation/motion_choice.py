r"""What simulated motion tells of a model: how dry friction acts, whether links are as described.

Simulated motion needs a sign that is smoothed over a velocity :math:`v_0`. A wide one is easy to
search with and biases what is found, since friction of real drives, and that of simulators, is
sharper. So the search goes on from where it converged with half of it, and again (continuation), as
long as the likelihood gains by more than chance. Real drives have more dry friction at low speed
and under load, too, and less viscous friction at high speed. No law is quite that of a drive, or of
another simulator, so that any more would be likelier: one is added where it explains at least half
of the squared residuals that a sharper sign leaves, and gains more than by chance. By the same rule
masses and inertias of links are freed that are held where no torque was measured: where the
description is off, armature and friction take the blame. The sharpness is then sought anew, since
each seems to be needed where the other is missing.

Drives that filter what they are told are slow, and so are those with much viscous friction, where a
search without the filter ends. From there no slope leads to the filter; so it is sought from the
first guess, where that simulates the motion better with it. Where neither the filter nor the links
explain enough they are tried together: what is wrong in one hides the other.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.trajectory.friction_smoothing import largest_smoothing
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.evaluation.simulated_stretch import (
    Change,
    SimulatedStretch,
    with_command_filter,
    with_free_links,
    with_terms,
)
from sysid_ros.recording.processing.choice import Choice

# Least smoothing in [rad/s] or [m/s]; encoders tell no sharper sign from this one.
_LEAST = 1e-3
#: Key of the velocity over which the sign is smoothed.
SHARPNESS = 'coulomb_smoothing'
# Laws that friction may have beyond Coulomb's, by the key of the joints that have them.
_LAWS = ('stribeck_friction', 'power_friction', 'load_friction')

# Part of the squared residuals that what is added has to explain, and to promise to be tried.
_ENOUGH, _PROMISING = 0.5, 0.2
# Accuracy of searches: models differ by more of the squared residuals.
_ROUGHLY = 1e-4
# Residuals that are so many times the noise leave something to explain by what promises nothing.
_MISFIT = 1.5


class MotionChoice(NamedTuple):
    """A model that simulated motion chose.

    Attributes:
        measured: The recordings with it.
        values: Parameters that fit best with it, shape ``(p,)``.
        choices: What was chosen, and why.
    """

    measured: Measurements
    values: np.ndarray
    choices: tuple[Choice, ...]


class Open(NamedTuple):
    """What settings leave open.

    Attributes:
        sharpness: Whether the smoothing is to be chosen.
        laws: Whether laws beyond Coulomb's are.
        links: Whether links that are held may be freed.
        filters: Whether commands may pass a filter.
    """

    sharpness: bool
    laws: bool
    links: bool
    filters: bool


def choose_by_motion(
    measured: Measurements, stop: float, estimator: ShootingEstimator, choosable: Open,
) -> MotionChoice | None:
    """Choose dry friction, whether links are sought, and a filter of commands, by simulated motion.

    Args:
        measured: The recordings, with friction that is smooth enough to be searched with.
        stop: Where the data to fit ends, as a fraction of each recording; some seconds in the
            middle of it are looked at.
        estimator: What simulates them.
        choosable: What is to be chosen.

    Returns:
        None where there is no robot, or nothing to choose, or no fit converges.

    Raises:
        EstimationError: Motion cannot be simulated from the first guess.
    """
    jumping = largest_smoothing(measured.model) > 0.0
    if measured.setup.settings.robot is None or not (
            jumping or choosable.links or choosable.filters):
        return None
    rough = replace(estimator, tolerance=max(estimator.tolerance, _ROUGHLY))
    stretch = SimulatedStretch.fitted(measured, stop, rough)
    if stretch is None:
        return None
    choosable = choosable._replace(
        sharpness=choosable.sharpness and jumping, laws=choosable.laws and jumping)
    stretch, chosen = _grown(stretch, choosable)
    if choosable.sharpness:
        # It may come from the first guess: a run that is repeated has to find it in its settings.
        width = largest_smoothing(stretch.measured.model)
        stretch = replace(stretch, measured=with_terms(**{SHARPNESS: width})(stretch.measured))
        chosen.insert(0, Choice(
            f'robot.terms.{SHARPNESS}', width,
            f'over {0.5 * width:g} the likelihood gains nothing, or motion cannot be simulated'
            if 0.5 * width >= _LEAST else 'encoders tell no sharper sign from this one'))
    return MotionChoice(stretch.measured, stretch.found.values, tuple(chosen))


def _grown(
    stretch: SimulatedStretch, choosable: Open
) -> tuple[SimulatedStretch, list[Choice]]:
    """The stretch with all that explains enough, and what that is."""
    chosen: list[Choice] = []
    more = _additions(stretch, choosable)
    # Looked at once, and only where there is something to explain.
    nearer = functools.cache(stretch.nearer_with_filter)

    def filters(sharper: SimulatedStretch) -> bool:
        return sharper.misfit > _MISFIT and nearer() > _PROMISING

    while True:
        sharper = _sharpened(stretch) if choosable.sharpness else stretch
        more = [one for one in more if not one.anew or filters(sharper)]
        added = _with_more(stretch, sharper, more)
        if added is None:
            return sharper, chosen
        best, stretch = added
        explained = 100.0 * sharper.explained(stretch)
        for one in best:
            more.remove(one)
            chosen.append(Choice(
                one.key, one.value,
                f'{one.because}it explains {explained:.0f} % of the squared errors of simulated '
                'motion' + (', with the other' if len(best) > 1 else '')))


class _Addition(NamedTuple):
    """Parameters that a model may have beside those it has.

    Attributes:
        key: Key of the settings that adds them.
        value: Its value.
        change: The same as a change of recordings.
        because: What is said before the part that they explain.
        anew: Whether they are sought from the first guess, and not from where a search ended.
        hides: Whether they are hidden by, and hide, others of which this is so.
    """

    key: str
    value: object
    change: Change
    because: str = ''
    anew: bool = False
    hides: bool = False

    def tried(
        self, stretch: SimulatedStretch, sharper: SimulatedStretch
    ) -> SimulatedStretch | None:
        """The stretch with them; None where they cannot explain enough, or no fit converges.

        Args:
            stretch: Where friction is as smooth as it was searched with.
            sharper: The same with the sharpest sign that is likelier.
        """
        if self.anew:
            # Links that are found may be needed to simulate it at all.
            return stretch.fitted_anew(self.change) or stretch.refitted(self.change)
        if not sharper.promise(self.change) > _PROMISING:
            return None
        found = stretch.refitted(self.change)
        if not self.hides or sharper.misfit <= _MISFIT or (
                found is not None and sharper.explained(found) > _ENOUGH):
            return found
        # What is wrong with links leads a search without them astray, from where none comes back.
        other = stretch.fitted_anew(self.change)
        return other if found is None or (
            other is not None and found.explained(other) > 0.0) else found


def _additions(stretch: SimulatedStretch, choosable: Open) -> list[_Addition]:
    """What may be added to a model, as far as that is to be chosen."""
    joints = stretch.terms.coulomb_friction
    links = [_Addition(
        'fit.fixed', [], with_free_links, 'links are not as described: to find their inertia, ',
        hides=True)]
    laws = [_Addition(f'robot.terms.{law}', joints, with_terms(**{law: joints})) for law in _LAWS]
    filters = [_Addition(
        'robot.command_time_constant', 'sought', with_command_filter,
        'drives filter what they are told: ', anew=True, hides=True)]
    return links * choosable.links + laws * choosable.laws + filters * choosable.filters


def _with_more(
    stretch: SimulatedStretch, sharper: SimulatedStretch, more: Sequence[_Addition]
) -> tuple[tuple[_Addition, ...], SimulatedStretch] | None:
    """What explains most, and the stretch with it; None where nothing explains enough.

    Args:
        stretch: Where friction is as smooth as it was searched with.
        sharper: The same with the sharpest sign that is likelier.
        more: What may be added.
    """
    def is_enough(other: SimulatedStretch) -> bool:
        return sharper.explained(other) > _ENOUGH and sharper.gain(other) > 0.0

    good = [
        ((one,), other) for one in more
        if (other := one.tried(stretch, sharper)) is not None and is_enough(other)]
    if good:
        return max(good, key=lambda each: sharper.explained(each[1]))
    hidden = tuple(one for one in more if one.hides)
    if len(hidden) < 2:
        return None
    together = stretch.fitted_anew(
        lambda measured: functools.reduce(lambda made, one: one.change(made), hidden, measured))
    return (hidden, together) if together is not None and is_enough(together) else None


def _sharpened(stretch: SimulatedStretch) -> SimulatedStretch:
    """The stretch with the smoothing halved as long as the likelihood gains."""
    width = largest_smoothing(stretch.measured.model)
    while 0.5 * width >= _LEAST:
        other = stretch.refitted(with_terms(**{SHARPNESS: 0.5 * width}))
        if other is None or stretch.gain(other) <= 0.0:
            break
        stretch, width = other, 0.5 * width
    return stretch
