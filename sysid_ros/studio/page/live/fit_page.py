"""The page of fits: what is fitted, how far it is, the verdict, and the report."""

from __future__ import annotations

from urllib.parse import quote

from sysid_ros.errors import SysidError
from sysid_ros.studio.error_notes import error_note
from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.page.errors import error_card, guarded
from sysid_ros.studio.page.inputs import selection, selections
from sysid_ros.studio.page.live.activity_view import activity_view
from sysid_ros.studio.page.live.frame import LiveFrame, live_framed
from sysid_ros.studio.page.parts import block, button, heading, text
from sysid_ros.studio.page.report_page import embedded
from sysid_ros.studio.page.verdict import verdict_card

_LEAD = ('Parameters that physics allows, from what was recorded, judged by data that was not '
         'fitted. The fit goes on in its node whatever this page does.')


def fit_page(panel: Panel) -> None:
    """Draw the page.

    Args:
        panel: What is shown.
    """
    with live_framed(panel, 'fit', _LEAD) as frame:
        frame.live(lambda: bool(panel.data.listing().recordings), lambda: _nothing(panel))
        _inputs(frame)
        _buttons(frame)
        activity_view(frame, 'fit')
        heading('Estimate')
        with block('div', 'beside'):
            estimate_selection(frame)
        frame.live(lambda: _estimate_key(panel), lambda: estimate_view(panel, report=True))


def _nothing(panel: Panel) -> None:
    if not panel.data.listing().recordings:
        with block('div', 'card notice'):
            text('span', 'Nothing was recorded yet: the page Motion plays a motion and records it.')


def _inputs(frame: LiveFrame) -> None:
    panel = frame.panel
    with block('div', 'card'), block('div', 'beside'):
        selections(
            frame, 'Recordings to fit together', lambda: panel.data.listing().recordings,
            lambda: panel.choices.fitted, lambda names: panel.choose(fitted=names))
        selection(
            frame, 'Judged by', lambda: {'': 'the last part of the recording'} | {
                name: name for name in panel.data.listing().recordings
                if name not in panel.choices.fitted},
            lambda: panel.choices.validation, lambda name: panel.choose(validation=name))


def _fitting(panel: Panel) -> bool:
    activity = panel.activity('fit')
    return panel.state.fits or (activity is not None and activity.active)


def _buttons(frame: LiveFrame) -> None:
    panel = frame.panel
    with block('div', 'beside'):
        begin = button('Fit', guarded(lambda: panel.begin_fit(frame.tab)), main=True)
        end = button('End the fit', guarded(lambda: panel.cancel_fit(frame.tab)),
                     hint='its recording is kept')
        said = text('span', '', 'soft')

    def update() -> None:
        fitting = _fitting(panel)
        begin.set_enabled(frame.operates and not fitting and bool(panel.choices.fitted))
        end.set_visibility(fitting)
        end.set_enabled(frame.operates)
        said.set_text('' if frame.operates or fitting else 'Take the controls first.')

    update()
    frame.follow(said, update)


def estimate_selection(frame: LiveFrame) -> None:
    """What chooses the estimate that is shown, and committed.

    Args:
        frame: The page.
    """
    panel = frame.panel
    selection(
        frame, 'Estimate, the newest first',
        lambda: {name: name for name in panel.data.listing().estimates},
        lambda: panel.choices.estimate, lambda name: panel.choose(estimate=name))


def _estimate_key(panel: Panel) -> object:
    estimate = panel.choices.estimate
    return estimate, panel.data.report_stamp(estimate) if estimate else 0


def estimate_view(panel: Panel, *, report: bool) -> None:
    """Show the verdict of the estimate that is chosen.

    Args:
        panel: What is shown.
        report: Whether its report is shown, too.
    """
    estimate = panel.choices.estimate
    if not estimate:
        text('p', 'Nothing was fitted yet.', 'soft')
        return
    try:
        verdict_card(panel.data.verdict(estimate))
    except SysidError as error:
        error_card(error_note(error))
    if not report:
        return
    stamp = panel.data.report_stamp(estimate)
    if stamp:
        embedded(f'/live/reports/{quote(estimate)}?{stamp}', f'report of {estimate}')
    else:
        text('p', 'It has no page yet. In a terminal:', 'soft')
        text('pre', f'sysid report {panel.data.report(estimate).parent}')
