"""A leg with three closed loops on a factor graph, against Pinocchio's constrained dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from support import leg_recordings as made
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.graph.identification import identify
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.tree.acceleration import accelerations


@pytest.fixture(scope='module')
def recording():
    """Two seconds at 8 ms."""
    return made.Recording(8e-3, 251, tolerance=1e-9)


def test_the_leg_accelerates_as_pinocchio_says(rng):
    leg, model = made.Leg(), made.mechanism().model
    chain, values = closed_chain(model.robot), model.parameters.values
    q = rng.uniform(-0.2, 0.2, (20, 6))
    v, torque = rng.normal(size=(2, 20, 6))
    motion = chain.motion(q, v, np.zeros_like(q))
    order = [chain.joint_names.index(name) for name in leg.joint_names]
    found = accelerations(model, values, q, v, 20.0 * torque)
    for k in range(20):
        theirs = leg.acceleration(motion.q[k, order], motion.v[k, order], 20.0 * torque[k])
        np.testing.assert_allclose(found[k], theirs[leg.motors], rtol=1e-8, atol=1e-8)


def test_masses_and_friction_are_found_from_encoders_and_torques(recording):
    # Loops stay closed as accurately as they are integrated.
    assert recording.gap < 1e-7
    graph = recording.graph(0)
    found = identify(graph, made.first_motion(graph))
    assert found.status is Status.CONVERGED and not found.held
    off = np.abs(found.values - recording.values)
    assert (off <= 3.5 * found.standard_deviation).all()
    # Two seconds tell masses and friction to some per cent.
    assert (found.standard_deviation <= 0.1 * recording.values).all()
    q = found.solution.variables['q']
    assert np.sqrt(np.mean((q - recording.truth[0])**2)) < 0.5 * made.ENCODER
