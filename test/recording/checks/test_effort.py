"""When an effort is taken for something else than a torque at the joint."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.recording.checks.effort import RecordedEfforts, effort_findings_together
from sysid_ros.recording.checks.effort_finding import EffortKind
from sysid_ros.recording.checks.single_effort import _contradicted
from sysid_ros.recording.processing.low_pass import LowPass


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
