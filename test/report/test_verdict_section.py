import pytest

from support.report_runs import changed_report
from sysid_ros.estimation.identifiability import Identifiability, WeakParameter
from sysid_ros.report.page import render_page
from sysid_ros.report.sections.verdict import unknown_parameters

pytest.importorskip('plotly', reason='the page is drawn by plotly')

_SLOW, _FAST = 'wrist alone, slowly through its range', 'all joints together, fast'


def weak(name, left, motion, then):
    return WeakParameter(name=name, left=left, motion=motion, then=then)


def test_what_stays_unknown_is_named_by_the_motion_that_would_tell_most_of_it():
    found = Identifiability(weak=(
        weak('hand.mass', 0.9, _FAST, 0.1),
        *(weak(f'wrist_{k}.friction', 1.0, _SLOW, 0.01) for k in range(6))))
    first, second = unknown_parameters(found)
    assert (first.motion, first.names[0], len(first.names) + first.more) == (
        _SLOW, 'wrist_0.friction', 6)
    assert (second.motion, second.names, second.more) == (_FAST, ['hand.mass'], 0)


def test_what_is_half_known_or_no_motion_tells_is_not_on_the_first_page():
    assert unknown_parameters(None) == []
    assert unknown_parameters(Identifiability(weak=(
        weak('a.mass', 0.4, _FAST, 0.01), weak('b.mass', 0.9, _FAST, 0.8),
        weak('c.mass', 0.9, None, 0.9)))) == []


def test_the_first_page_names_them_before_what_is_next():
    def leave_open(data):
        data['sections'][0]['unknown'] = [
            {'names': ['hand.<b>mass</b>'], 'more': 3, 'motion': _FAST}]

    page = render_page(changed_report(leave_open)).decode()
    begin = page.index('Stays unknown')
    assert 'hand.&lt;b&gt;mass&lt;/b&gt; and 3 more' in page[begin:]
    assert page.index(_FAST, begin) < page.index('Next:') < page.index('The data</h2>')
