"""How far something is that nodes were asked for, and what came of it."""

from __future__ import annotations

import math
import time

from sysid_ros.studio.live.activity import Activity, Kind
from sysid_ros.studio.page.errors import error_card
from sysid_ros.studio.page.live.frame import LiveFrame
from sysid_ros.studio.page.parts import block, duration, light, text


def activity_view(frame: LiveFrame, kind: Kind) -> None:
    """Show the last activity of a kind.

    Args:
        frame: The page.
        kind: The kind.
    """
    def key() -> object:
        activity = frame.panel.activity(kind)
        return None if activity is None else (activity.began, activity.active)

    def draw() -> None:
        activity = frame.panel.activity(kind)
        if activity is not None:
            _draw(frame, activity)

    frame.live(key, draw)


def _draw(frame: LiveFrame, activity: Activity) -> None:
    if activity.active:
        _under_way(frame, activity)
    elif activity.error is not None:
        text('p', f'{activity.title}, {_ended(activity)}', 'soft')
        error_card(activity.error)
    elif activity.outcome is not None:
        good = activity.outcome.good
        with block('div', f'card {"fine" if good else "error"}') as card:
            card.props['role'] = 'status'
            light('good' if good else 'bad', f'{activity.title}, {_ended(activity)}')
            text('p', activity.outcome.text)
            for sentence in activity.outcome.details:
                text('p', sentence)


def _ended(activity: Activity) -> str:
    return (f'{time.strftime("%H:%M:%S", time.localtime(activity.ended))}, after '
            f'{duration(activity.ended - activity.began)}')


def _under_way(frame: LiveFrame, activity: Activity) -> None:
    with block('div', 'card') as card:
        card.props['role'] = 'status'
        text('strong', activity.title)
        bar = block('progress')
        bar.props.update({'aria-label': f'progress of {activity.title}', 'max': '1'})
        stage = text('div', '', 'soft')

        def update() -> None:
            known = math.isfinite(activity.progress)
            shown = f'{activity.progress:.3f}' if known else None
            if bar.props.get('value') != shown:
                if known:
                    bar.props['value'] = shown
                else:
                    bar.props.pop('value', None)
            stage.set_text(
                f'{activity.stage or "Asking"} · {duration(time.time() - activity.began)}')

        update()
        frame.follow(card, update)
