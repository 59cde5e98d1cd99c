"""How far a batch is, and the time to its end."""

import pytest

from sysid_ros.fleet.fit import FitOutcome
from sysid_ros.fleet.progress import Progress, duration
from sysid_ros.fleet.record import FitRecord, FitStatus


def outcome(*, fitted, status=FitStatus.COMMITTABLE):
    return FitOutcome(FitRecord(run='a/b', robot='a', source='b', status=status), fitted)


def test_the_time_to_go_is_that_of_the_fits_that_are_left_at_the_pace_so_far():
    now = [0.0]
    progress = Progress(10, clock=lambda: now[0])
    progress.add(outcome(fitted=False))
    assert progress.seconds_to_go is None
    assert progress.line() == '1 of 10, 1 as they were'
    now[0] = 60.0
    progress.add(outcome(fitted=True))
    progress.add(outcome(fitted=True, status=FitStatus.FAILED))
    # Two fits took 60 s, and seven are left.
    assert progress.seconds_to_go == pytest.approx(210.0)
    assert progress.line() == '3 of 10, 1 as they were, 1 failed, 4 min to go'


@pytest.mark.parametrize(
    ('seconds', 'text'), [(7.4, '7 s'), (99.0, '99 s'), (300.0, '5 min'), (7500.0, '2 h 5 min')])
def test_times_are_told_as_people_do(seconds, text):
    assert duration(seconds) == text
