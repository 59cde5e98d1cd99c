"""What is chosen stays among what is there."""

import pytest
from pydantic import ValidationError

from sysid_ros.studio.choices import Choices
from sysid_ros.studio.folder import Contents, RecordingEntry

CONTENTS = Contents(
    recordings=(RecordingEntry('a.yaml', 'settings'), RecordingEntry('b.yaml', 'settings'),
                RecordingEntry('bag', 'bag')),
    descriptions=('arm.urdf',), runs=('runs/2', 'runs/1'), srdfs=('arm.srdf',),
    plans=('a_excite.yaml', 'b_excite.yaml'), motions=('motions/2', 'motions/1'))


def test_where_nothing_is_chosen_the_first_of_each_is():
    chosen = Choices().within(CONTENTS)
    assert (chosen.description, chosen.recording, chosen.fitted) == (
        'arm.urdf', 'a.yaml', ('a.yaml',))
    assert (chosen.validation, chosen.run, chosen.compared) == ('b.yaml', 'runs/2', ())
    assert (chosen.planned, chosen.plan, chosen.motion) == (
        'arm.urdf', 'a_excite.yaml', 'motions/2')
    # Which links may touch is said by a person alone.
    assert chosen.srdf == ''


def test_what_is_gone_is_not_chosen_any_more():
    chosen = Choices(
        description='gone.urdf', recording='gone', fitted=('b.yaml', 'gone.yaml'), run='runs/1',
        compared=('runs/1', 'runs/gone')).within(CONTENTS)
    assert (chosen.description, chosen.recording, chosen.fitted) == (
        'arm.urdf', 'a.yaml', ('b.yaml',))
    assert (chosen.run, chosen.compared) == ('runs/1', ('runs/1',))


def test_a_recording_that_is_fitted_is_not_judged_by():
    chosen = Choices(
        fitted=('a.yaml', 'b.yaml'), judged_by='validate', validation='a.yaml').within(CONTENTS)
    assert (chosen.judged_by, chosen.validation) == ('holdout', '')


@pytest.mark.parametrize('change', [
    {'holdout': 1.5}, {'folds': 1}, {'judged_by': 'luck'}, {'estimator': 'x' * 100},
    {'run': 'x' * 5000}, {'no_such_field': 1}, {'speed': 2.0}, {'boxes': [
        {'name': 'a=b', 'lower': (0, 0, 0), 'upper': (1, 1, 1)}]}, {'boxes': [
            {'name': 'far', 'lower': (0, 0, 0), 'upper': (1, 1, 1e9)}]}])
def test_a_value_that_is_none_is_refused(change):
    with pytest.raises(ValidationError):
        Choices().with_changes(change)


def test_an_empty_folder_has_nothing_to_choose():
    assert Choices(run='runs/1', fitted=('a.yaml',)).within(Contents()) == Choices()
