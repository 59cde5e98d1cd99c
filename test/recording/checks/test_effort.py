"""When an effort is taken for something else than a torque at the joint."""

from __future__ import annotations

from types import SimpleNamespace

from sysid_ros.recording.checks.effort import _contradicted
from sysid_ros.recording.checks.effort_finding import EffortKind


def test_a_reading_that_fits_no_better_than_a_plausible_one_accuses_nobody():
    def reading(deviance):
        return SimpleNamespace(deviance=lambda _: deviance, by_prior=-1.0, correlation=0.6)

    kind = EffortKind.GRAVITY_COMPENSATED
    # A wrist that weighs next to nothing: no reading explains what friction does there.
    assert _contradicted(kind, 0.05, reading(240.0), reading(220.0), 1.0)
    assert not _contradicted(kind, 1.0, reading(20.0), reading(220.0), 1.0)
