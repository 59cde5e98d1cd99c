"""A motion in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.report.tables import table

if TYPE_CHECKING:  # the report of a fit needs none
    from sysid_ros.excitation.safety.verification import Verification

#: Base parameters whose expected uncertainty is below this part of their usual change are well
#: known.
WELL_KNOWN = 0.1
# So many of the least known are named.
_NAMED = 5


def excitation_summary(
    excitation: Excitation, verification: Verification, information: Information,
    deviations: np.ndarray, stopping_time: float,
) -> str:
    """What a motion uses of the limits, and what it will tell.

    Args:
        excitation: The motion.
        verification: What was found on it on a dense grid.
        information: What rows tell.
        deviations: Expected standard deviations after it, in parts of usual changes, ``(r,)``.
        stopping_time: Time in which it can be stopped anywhere in [s].

    Returns:
        Lines for a terminal.
    """
    lines = [
        f'Motion of {excitation.duration:.4g} s at {100.0 * excitation.speed:.4g} % speed, '
        f'seed {excitation.design.get("seed", "unknown")}\n',
        limits_table(excitation.joint_names, verification),
        '\nLargest part of each limit, margins included, that is used, in %.',
    ]
    if np.isfinite(verification.clearance):
        lines.append(
            f'Smallest clearance beyond what is required: {1e3 * verification.clearance:.0f} mm.'
        )
    lines.append(f'It can be stopped on its way within {stopping_time:.2g} s.')
    expected, *least = expected_knowledge(information, deviations)
    return '\n'.join([*lines, f'\n{expected}', *least])


def expected_knowledge(information: Information, deviations: np.ndarray) -> tuple[str, ...]:
    """How well base parameters will be known after a motion, and which least, in sentences.

    Args:
        information: What rows tell.
        deviations: Expected standard deviations after it, in parts of usual changes, ``(r,)``.
    """
    well = int(np.count_nonzero(deviations < WELL_KNOWN))
    expected = (
        f'Expected after this motion: {well} of {len(deviations)} base parameters to better '
        f'than {100.0 * WELL_KNOWN:.0f} % of their usual size, median '
        f'{_part(np.median(deviations))}.')
    names = information.model.parameters.names
    told = [
        f'{names[information.base.independent[k]]} ({_part(deviations[k])})'
        for k in np.argsort(-deviations)[:_NAMED] if deviations[k] >= WELL_KNOWN
    ]
    if not told:
        return (expected,)
    return expected, f'Least known, with what they are combined with: {", ".join(told)}.'


def limits_table(joint_names: tuple[str, ...], verification: Verification) -> str:
    """Share of every limit that is used, joint by joint, in percent."""
    rows = [
        [name, *(f'{100.0 * share[k]:.0f}' for share in verification.used.values())]
        for k, name in enumerate(joint_names)
    ]
    return table(['joint', *verification.used], rows)


def _part(value: float) -> str:
    return f'{100.0 * value:.2g} %' if value < 1.0 else f'{value:.2g} times'
