"""Traces of the joints over the last seconds, which the script of the page draws."""

from __future__ import annotations

from sysid_ros.studio.live.state import LiveState
from sysid_ros.studio.page.live.frame import LiveFrame
from sysid_ros.studio.page.parts import block, heading, text

#: What is drawn, and its units.
QUANTITIES = (
    ('Position', 'rad or m'), ('Velocity', 'rad/s or m/s'), ('Effort', 'N·m or N'))


def traces_view(frame: LiveFrame) -> None:
    """Show the traces.

    Args:
        frame: The page.
    """
    heading('The last ten seconds')
    frame.live(lambda: frame.panel.state.problem, lambda: _unheard(frame.panel.state))
    legend = block('ul', 'legend')
    legend.props.update({'id': 'live-legend', 'aria-label': 'joints, by colour and dashes'})
    with block('div', 'traces'):
        for place, (name, unit) in enumerate(QUANTITIES):
            with block('figure'):
                text('figcaption', f'{name} [{unit}]')
                canvas = block('canvas', 'trace')
                canvas.props.update({
                    'data-trace': str(place), 'role': 'img',
                    'aria-label': f'{name} of every joint over the last ten seconds; the page '
                    'Robot has a table of the values of now'})


def _unheard(state: LiveState) -> None:
    if state.problem:
        with block('div', 'card error') as card:
            card.props['role'] = 'alert'
            text('span', f'✕ {state.problem}')
