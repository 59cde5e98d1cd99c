"""The leg of the closed chain, simulated in pieces of half a second from recorded torques.

As in Zhang, Haugk and Vasudevan, System Identification For Constrained Robots, section IV-C: 31
pieces of a motion that was not fitted, each begun at the measured state, moved by the measured
torques. A table like their table II, of all 15 joints, has the errors by the truth, by what was
identified from a minute of another motion, and by what identification began with: masses up to
20 % off, half of the friction and drive inertia. The last column is the trivial prediction, that
motors keep their velocities. Passive joints follow from the motors, simulated and measured. A piece
that runs into a dead point counts up to there.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401

# isort: on
import json
from typing import Any

import constrained as leg
import numpy as np

from sysid_ros.evaluation.simulation import simulate
from sysid_ros.mechanics.closures.closed_chain import ClosedChain, closed_chain
from sysid_ros.recording.processing.align import align

PIECES, HORIZON, BAR = 31, 0.5, 1.2
# The edges of the filters are cut off from the recording.
SECONDS = (PIECES + 1) * HORIZON


def all_joints(chain: ClosedChain, path: np.ndarray) -> np.ndarray:
    """Positions of all m joints along pieces of a motion of the n motors, ``(S, k, m)``.

    NaN where the loops cannot be closed.
    """
    flat = path.reshape(-1, path.shape[2])
    full = np.full((len(flat), len(chain.joint_names)), np.nan)
    there = np.flatnonzero(np.isfinite(flat).all(axis=1))
    q, reached = chain.reachable(flat[there])
    full[there[reached]] = q[reached]
    return full.reshape(*path.shape[:2], -1)


def figures() -> list[dict[str, Any]]:
    """Errors of the simulation by all parameters."""
    model = leg.model_of()
    chain = closed_chain(model.robot)
    truth, prior = leg.truth_and_prior(model, 1)
    fitted = leg.recorded(model, truth, leg.SECONDS, 3)
    found = leg.identified(model, prior, fitted)[1].parameters
    held_out = leg.recorded(model, truth, SECONDS, 4)
    dataset = align(held_out, model.robot.joint_names, leg.PROCESSING)
    candidates = {'prior': prior.prior, 'identified': found.values, 'truth': truth}
    paths, relative, trouble = {}, {}, {}
    for name, values in candidates.items():
        simulation = simulate(model, values, dataset, horizon=HORIZON, most=PIECES)
        trouble[name] = simulation.candidate.problem() or 'every piece comes to its end'
        print(f'{name}: {trouble[name]}')
        paths[name] = simulation.candidate.path
        relative[name] = simulation.relative(simulation.candidate)
    paths['coasting'] = simulation.coasting.path
    measured = all_joints(chain, simulation.measured)
    errors = {
        name: np.degrees(all_joints(chain, path) - measured) for name, path in paths.items()}
    pieces, samples = measured.shape[:2]
    print(f'{pieces} pieces of {HORIZON} s, {samples} samples each: root mean square (and L2 norm) '
          'in degrees')
    for k, joint in enumerate(chain.joint_names):
        kind = 'motor' if joint in model.robot.joint_names else 'passive'
        print(f'{joint:15s} {kind:7s} ' + ', '.join(
            f'{name} {np.sqrt(np.nanmean(error[:, 1:, k]**2)):7.3f} '
            f'({np.sqrt(np.nansum(error[:, 1:, k]**2)):7.1f})' for name, error in errors.items()))
    ratio = relative['identified'] / relative['truth']
    return [{
        'name': 'simulation of the leg, 0.5 s by recorded torques', 'value': relative['identified'],
        'unit': 'of coasting', 'reference': f'truth {relative["truth"]:.3g}; prior: '
        f'{trouble["prior"]}', 'ratio': ratio, 'bar': f'<= {BAR:g} times that of the truth',
        'ok': bool(ratio <= BAR and pieces == PIECES)}]


if __name__ == '__main__':
    print(json.dumps(figures(), ensure_ascii=False))
