"""How far a request is, and whether it may still be taken back."""

import pytest

from sysid_ros.msg import ResultCode
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError


def test_each_report_is_given_once_and_none_twice_in_a_row():
    progress = Progress()
    for stage, part in (('a', 0.0), ('a', 0.0), ('b', 0.5), ('a', 0.0)):
        progress.tell(stage, part)
    assert progress.new_reports() == [('a', 0.0), ('b', 0.5), ('a', 0.0)]
    progress.tell('a', 0.0)
    assert progress.new_reports() == []


def test_work_for_a_request_that_was_taken_back_ends_where_it_asks():
    progress = Progress()
    progress.tell('Judging', 0.2)
    progress.require_wanted()
    assert progress.withdraw()
    for ask in (progress.require_wanted, progress.make_final):
        with pytest.raises(RefusedError, match='found Judging') as refusal:
            ask()
        assert refusal.value.code == ResultCode.CANCELLED


def test_what_is_final_is_not_taken_back():
    progress = Progress()
    progress.make_final()
    assert not progress.withdraw()
    progress.require_wanted()
