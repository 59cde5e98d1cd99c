"""What a person should know of an estimate, whether or not it may be handed over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sysid_ros.errors import listed
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.payload.weighing import Weighing
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.objections import (
    FEW_DIVERGE,
    OVERFIT,
    SIMULATION_HARM,
    clearly_worse_joints,
    worse_joints,
)
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.mechanics.actuators.actuators import DELAY

# Masses further than this factor from the prior are worth a look.
_MASS_FACTOR = 3.0
# A joint that is predicted this much worse than by the prior is worth one, too.
_JOINT_WORSE = 1.1
# Parameters that scatter this much more than their σ have σ that are too small.
_SCATTER = 2.0
_SHOWN = 3
# What stands between parameters that data do not tell apart, and how many of them are named.
_WITH, _NAMED = ' with ', 4
_BEYOND_DATA = (
    'No recording shows a scale near 1 or a bias that all its efforts have, nor a clock that is a '
    'few per cent off: masses are as right as the torque sensors. Pick up a load of known mass to '
    'know (known: {payload: {recording: loaded.yaml, mass: 2.0}}).'
)
_WITHOUT_WEIGHT = (
    'No joint feels weight: a clock that runs wrong, even by much, cannot be told from one scale '
    'of all efforts; each is as right as the other is. Compare the duration with a watch, and pick '
    'up a load of known mass for the scale (known: {payload: {recording: loaded.yaml, mass: 2.0}}).'
)
_BY_LOAD = (
    'The scale of all efforts is that of the known load: {mass:.4g} kg are {found:.4g} ± '
    '{deviation:.1g} kg by the torques. No recording shows a bias that all its efforts have, nor a '
    'clock that is a few per cent off.'
)
_BY_ACTUATORS = (
    'No torque was measured: friction, inertia and offsets are as right as the constants of the '
    'actuators that were held, and in their proportion.'
)
_LIKE_WRONG_GAINS = (
    'Torques of all bodies came out {scale:.2f} times those described, much the same at joints '
    'that tell it ({least:.2f} to {most:.2f}). Constants of actuators that are wrong by one factor '
    'look so, and so does a tool that is not described: measure the torque of one pose to know.'
)
# Part of viscous friction that may be open by the delay without a word.
_OPEN = 0.3
_WEIGHED_UNTOLD = (
    'Weighed masses are kept as they were given (known: {masses, total_mass}), and were tested by '
    'nothing: joints that turn feel a mass only times a distance, and no slide tells the one that '
    'it moves well enough. A wrong weighing or a wrong scale of all efforts fits as well as right '
    'ones, with other centres of mass. A load of known mass that is picked up tells the scale.'
)
_BY_WEIGHING = (
    'The effort of {joint} agrees with what was weighed: {mass:.4g} kg move, by the torques '
    '{found:.4g} ± {deviation:.1g} kg.'
)
_NOT_BY_WEIGHING = (
    'The effort of {joint} moves {found:.4g} ± {deviation:.1g} kg, and {mass:.4g} kg were weighed: '
    'friction near standstill, the scale of the effort or the weighing is off by as much.'
)
_LOAD_UNTOLD = (
    'The recording with the known load does not tell the scale of the efforts: {mass:.4g} kg are '
    '{found:.3g} ± {deviation:.1g} kg by the torques. Take a heavier load, or faster motion.'
)


def find_remarks(
    estimate: Estimate,
    prediction: TorquePrediction | None,
    folds: CrossValidation | None,
    simulation: Simulation | None,
    data: DataFindings,
) -> tuple[str, ...]:
    """All remarks, those of the fit itself first.

    For the evidence see :func:`~sysid_ros.evaluation.verdict.judge`.
    """
    unseen = prediction if prediction is not None and prediction.held_out else None
    return (
        *estimate.notes, *_beyond_data(estimate, data), *_undetermined(estimate),
        *_scale(estimate), *_masses(estimate),
        *_kind_of_evidence(unseen, folds), *_at_rest(unseen, data),
        *_generalisation(estimate, unseen), *_folds(folds), *_simulation(simulation),
    )


def _undetermined(estimate: Estimate) -> Iterator[str]:
    if estimate.identifiability is not None:
        yield from estimate.identifiability.sentences
    elif estimate.unidentified:
        groups = [listed(group.split(_WITH), _NAMED, _WITH) for group in estimate.unidentified]
        words = f'Not determined by this data: {listed(groups, separator="; ")}.'
        # More of a motion that nothing drives would tell no more.
        if not _without_torque(estimate):
            words += ' A motion that moves the joints they act on would help.'
        yield words


def _beyond_data(estimate: Estimate, data: DataFindings) -> Iterator[str]:
    """What is wrong in all recordings alike, and leaves no trace in any."""
    if not estimate.status.found_values or _without_torque(estimate):
        return
    if DELAY in estimate.parameters:
        yield _BY_ACTUATORS
        found = data.scale_of_bodies
        if found is not None and not found.beyond_descriptions:
            yield _LIKE_WRONG_GAINS.format(scale=found.scale, least=found.least, most=found.most)
        yield from _late_or_viscous(estimate)
        return
    load = data.load
    if data.weighing is not None:
        yield from _weighing(data.weighing)
    if load is not None:
        said = _BY_LOAD if load.determined else _LOAD_UNTOLD
        yield said.format(
            mass=load.mass, found=load.found, deviation=load.deviation * load.mass)
    if load is None or not load.determined:
        yield _WITHOUT_WEIGHT if data.weightless else _BEYOND_DATA


def _late_or_viscous(estimate: Estimate) -> Iterator[str]:
    """Where the delay leaves viscous friction of position servos open.

    In slow motion kp (u(t - d) - q) is kp (u - q) - kp d v: the delay d makes the same torque as
    viscous friction kp d.
    """
    parameters = estimate.parameters
    width = estimate.intervals()['noise'].get(DELAY, 0.0)
    left_open = []
    for name, kp in zip(parameters.names, parameters.values, strict=True):
        joint, _, field = name.rpartition('.')
        if field == 'kp' and (viscous := f'{joint}.viscous_friction') in parameters:
            k = parameters.index(viscous)
            if parameters.free[k] and kp * width > _OPEN * abs(parameters.values[k]):
                left_open.append(f'{joint} ({kp * width:.2g} {parameters.units[k]})')
    if left_open:
        yield (
            f'In slow motion a late command looks like viscous friction: the delay is known to '
            f'± {1e3 * width:.2g} ms, which leaves as much of it open as kp makes of that: '
            f'{", ".join(left_open)}. Record faster motion, as of sysid excite with motion: '
            '{family: chirp, highest: 4}, or measure the delay and say it, as robot: '
            '{command_delay: 0.005}.')


def _weighing(weighing: Weighing) -> Iterator[str]:
    """What a weighing is worth beside torques."""
    for slide in weighing.slides:
        if not slide.off:
            yield (_BY_WEIGHING if slide.agrees else _NOT_BY_WEIGHING).format(
                joint=slide.joint, mass=slide.mass, found=slide.found, deviation=slide.deviation)
    if not weighing.slides:
        yield _WEIGHED_UNTOLD


def _without_torque(estimate: Estimate) -> bool:
    return bool(np.isnan(estimate.residuals.relative_error))


def _scale(estimate: Estimate) -> Iterator[str]:
    """Free motion is the same for a robot whose masses and frictions are all twice as large."""
    if estimate.status.ok and _without_torque(estimate):
        yield (
            'Nothing drove the robot, so motion tells masses, inertias and friction but for a '
            'common factor: torques are as right as the parameter that was held. Record a motion '
            'that is driven with a known torque, and fit both recordings together.'
        )


def _masses(estimate: Estimate) -> Iterator[str]:
    parameters = estimate.parameters
    far = [
        f'{body} ({parameters[f"{body}.mass"]:.3g} kg against {prior:.3g} kg)'
        for body in parameters.bodies
        if (prior := parameters.prior[parameters.index(f'{body}.mass')]) > 0.0
        and not prior / _MASS_FACTOR <= parameters[f'{body}.mass'] * (1 + 1e-6)
        <= _MASS_FACTOR * prior * (1 + 2e-6)
    ]
    if far:
        yield (
            f'Masses far from the prior: {", ".join(far)}. Where that is the end of an arm, it may '
            'be a tool that the description lacks.')


def _kind_of_evidence(
    unseen: TorquePrediction | None, folds: CrossValidation | None
) -> Iterator[str]:
    """Rows of the same motion say little of how a fit extrapolates."""
    if unseen is None and folds is not None:
        source = 'stretches left out in turn'
    elif unseen is not None and unseen.same_recording:
        source = 'rows'
    else:
        return
    yield (
        f'It was judged by {source} of the recording it was fitted to. That is weak evidence: '
        'how it does on faster or different motion is not known. Validate it on another recording.'
    )


def _at_rest(unseen: TorquePrediction | None, data: DataFindings) -> Iterator[str]:
    """Joints that were fitted in motion, and judged by at rest."""
    resting = [joint for joint in data.judged_still if joint not in data.still]
    if unseen is not None and resting:
        yield (
            f'{", ".join(resting)} did not move in the data it was judged by, which tells nothing '
            f'of {"its" if len(resting) == 1 else "their"} friction and inertia.')


def _generalisation(estimate: Estimate, unseen: TorquePrediction | None) -> Iterator[str]:
    if unseen is None:
        return
    training, held_out = estimate.residuals.relative_error, unseen.candidate.relative_error
    if held_out > OVERFIT * training > 0.0:
        yield (
            f'The held-out error is {held_out / training:.1f} times the training error: '
            'the motions differ, or the model has too much freedom.'
        )
    clearly = clearly_worse_joints(unseen)
    worse = [joint for joint in worse_joints(unseen, _JOINT_WORSE) if joint not in clearly]
    if worse:
        yield f'Predicted somewhat worse than by the prior, RMS: {", ".join(worse)}.'


def _folds(folds: CrossValidation | None) -> Iterator[str]:
    if folds is None:
        return
    worse = np.flatnonzero(~(folds.errors < folds.prior_errors))
    if len(worse):
        yield (
            f'Fold {", ".join(str(k + 1) for k in worse)} of {len(folds.folds)} is predicted no '
            'better than by the prior: without that part the recording does not show enough.'
        )
    ratio = folds.overall_sigma_ratio
    if ratio > _SCATTER:
        names = folds.outliers[:_SHOWN]
        yield (
            f'Between folds the base parameters differ {ratio:.1f} times as much as their '
            'standard deviations say; take intervals as that much wider'
            + (f', most of all for {"; ".join(names)}.' if names else '.')
        )


def _simulation(simulation: Simulation | None) -> Iterator[str]:
    if simulation is None:
        return
    diverged, stretches = simulation.candidate.diverged, len(simulation.starts)
    if 0 < diverged <= FEW_DIVERGE * stretches:
        yield f'Simulated under {simulation.under}, {simulation.candidate.problem()}.'
    if simulation.candidate.problem() is not None:
        return
    prior, coasting = simulation.prior.position, simulation.coasting.position
    worse = _further(simulation, SIMULATION_HARM * prior)
    if worse:
        yield (
            f'Simulated for {simulation.horizon:.2g} s, {worse} departs further from the measured '
            'motion than with the prior.'
        )
    poor = _further(simulation, coasting)
    if poor:
        yield (
            f'A constant velocity would have predicted {simulation.horizon:.2g} s of {poor} better '
            'than the simulation: the motion is slow, or friction and torque noise outweigh '
            'inertia there.'
        )


def _further(simulation: Simulation, bound: np.ndarray) -> str:
    """Joints that are simulated with more than some error, in words."""
    further = (simulation.candidate.position > bound) & simulation.moving
    return ', '.join(np.array(simulation.joint_names)[further])
