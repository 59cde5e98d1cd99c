"""When an effort is taken for something else than a torque at the joint."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from support import sensed_arm
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort import RecordedEfforts, effort_findings_together
from sysid_ros.recording.checks.effort_finding import EffortKind
from sysid_ros.recording.checks.single_effort import _contradicted
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.robot.model import RobotModel


def kinds(arm, data, low_pass):
    """Kinds of the efforts of an arm, filtered by what a fit filters by."""
    found, = effort_findings_together([RecordedEfforts(data, low_pass=low_pass)], arm.model)
    return [one.kind for one in found]


def kicked(arm, joint):
    """A recording with kicks to and fro, of one sample each, of more power than the motion's."""
    data = arm.dataset()
    tau = np.array(data.tau)
    size = 9.0 * tau[:, joint].std()
    for row in range(40, len(tau) - 1, 100):
        tau[row:row + 2, joint] += [size, -size]
    return replace(data, tau=tau)


def test_a_reading_that_fits_no_better_than_a_plausible_one_accuses_nobody():
    def reading(deviance):
        return SimpleNamespace(deviance=lambda _: deviance, by_prior=-1.0, correlation=0.6)

    kind = EffortKind.GRAVITY_COMPENSATED
    # A wrist that weighs next to nothing: no reading explains what friction does there.
    assert _contradicted(kind, 0.05, reading(240.0), reading(220.0), 1.0)
    assert not _contradicted(kind, 1.0, reading(20.0), reading(220.0), 1.0)


@pytest.mark.parametrize('joint', [0, 1])
def test_kicks_that_no_encoder_shows_accuse_no_sensor(simulated_arm, joint):
    arm = simulated_arm(1)
    data = kicked(arm, joint)
    assert kinds(arm, data, None)[joint] is EffortKind.UNRELATED
    assert kinds(arm, data, LowPass(cutoff=10.0))[joint].usable
    # Values of masked samples mean nothing.
    mask = np.array(data.mask)
    mask[500:520, joint] = False
    tau = np.array(data.tau)
    tau[500:520, joint] = 1e6
    assert kinds(arm, replace(data, tau=tau, mask=mask), LowPass(cutoff=10.0))[joint].usable


def test_an_effort_of_something_else_is_so_without_its_kicks(simulated_arm):
    arm = simulated_arm(1)
    data = kicked(arm, 1)
    tau = np.array(data.tau)
    tau[:, 1] = np.sin(0.7 * data.t) * tau[:, 1].std() + (tau[:, 1] - arm.dataset().tau[:, 1])
    assert kinds(arm, replace(data, tau=tau), LowPass(cutoff=10.0))[1] is EffortKind.UNRELATED


def test_where_a_segment_is_too_short_to_be_filtered_the_effort_counts_as_it_is(simulated_arm):
    arm = simulated_arm(1)
    assert kinds(arm, kicked(arm, 1), LowPass(cutoff=0.01))[1] is EffortKind.UNRELATED


@pytest.fixture(scope='module')
def swung():
    """Makes what a fit would read of an arm that swings near its own frequencies."""
    pytest.importorskip('mujoco')
    recorded = sensed_arm.simulated(20.0)
    rate = 200.0

    def with_noise(noise, factor=1.0):
        random = np.random.default_rng(0)
        # Weight and acceleration leave little of each other, which noise of encoders outweighs.
        q = LowPass(cutoff=11.4).apply(
            recorded.q + noise * random.normal(size=recorded.q.shape), rate)
        v = np.gradient(q, 1.0 / rate, axis=0)
        part = slice(200, -200)
        return Dataset(
            t=recorded.t[part], q=q[part], v=v[part],
            a=np.gradient(v, 1.0 / rate, axis=0)[part], tau=factor * recorded.torque[part],
            joint_names=('shoulder', 'elbow'), rate=rate, mask=np.ones_like(q[part], dtype=bool),
            segments=((0, len(q[part])),))

    return with_noise


def findings_of_swing(data, low_pass=None):
    """Findings on an arm's efforts beside its true description."""
    model = TorqueModel(
        RobotModel.from_urdf(sensed_arm.URDF), (ViscousFriction(('shoulder', 'elbow')),))
    found, = effort_findings_together([RecordedEfforts(data, low_pass=low_pass)], model)
    return found


@pytest.mark.parametrize(('noise', 'said'), [
    (7e-3, EffortKind.INCONSISTENT), (1e-2, EffortKind.UNRELATED)])
def test_noise_of_encoders_accuses_no_effort(swung, noise, said):
    data = swung(noise)
    assert any(one.kind is said for one in findings_of_swing(data))
    assert all(one.kind.usable for one in findings_of_swing(data, LowPass(cutoff=3.8)))


@pytest.mark.parametrize('factor', [0.5, 2.0])
def test_a_scale_is_found_beside_noise_of_encoders(swung, factor):
    *_, together = findings_of_swing(swung(1e-3, factor), LowPass(cutoff=3.8))
    assert together.kind is EffortKind.INCONSISTENT
    assert together.scale == pytest.approx(factor, rel=0.25)
