"""The step of the export: parameters of a run as files that other programs read."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from sysid_ros.studio.commands import command_of
from sysid_ros.studio.jobs import EXPORT_FORMATS, ExportJob
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import switch
from sysid_ros.studio.page.parts import block, button, heading, terminal, text
from sysid_ros.studio.page.progress import outcome, progress, when
from sysid_ros.studio.page.report_page import run_selection
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Task

_LEAD = ('Hand it over: the description with the masses and frictions that were found, and files '
         'for simulators and drives. Try it on the robot at low speed first.')
_WHAT = {
    'description': 'the description in its own format, URDF or MJCF; only inertias and friction '
                   'change',
    'yaml': 'YAML with every parameter and its interval',
    'isaac_lab': 'actuators of Isaac Lab', 'mjcf': 'MJCF as MuJoCo reads it',
    'ros2_control': 'parameters of ros2_control', 'sdf': 'SDF as Gazebo reads it',
    'usd': 'USD physics as Isaac Sim reads it; needs usd-core'}


def export_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'export', _LEAD) as frame:
        run_selection(frame, studio)
        with block('div', 'card options'):
            for name in EXPORT_FORMATS:
                switch(frame, _WHAT[name], partial(_is_chosen, studio, name),
                       partial(_choose, studio, name))
        frame.live(lambda: _key(studio), lambda: _draw(frame, studio))


def _is_chosen(studio: Studio, name: str) -> bool:
    return name in studio.choices.formats


def _choose(studio: Studio, name: str, chosen: bool) -> None:
    formats = {*studio.choices.formats, name} if chosen else {*studio.choices.formats} - {name}
    studio.choose(formats=tuple(one for one in EXPORT_FORMATS if one in formats))


def _key(studio: Studio) -> object:
    run = studio.choices.run
    task = studio.task('export', run)
    return run, studio.choices.formats, None if task is None else (task.asked, task.phase)


def _draw(frame: Frame, studio: Studio) -> None:
    run, formats = studio.choices.run, studio.choices.formats
    if not run:
        return
    if not formats:
        text('p', 'Choose a format.', 'soft')
        return
    job, task = ExportJob(run=run, formats=formats), studio.task('export', run)
    if task is not None and task.phase.active:
        progress(frame, task)
        return
    button('Export', guarded(lambda: studio.begin(job)), main=True)
    terminal(command_of(job, studio.folder.root))
    if task is not None and outcome(task):
        _result(task)


def _result(task: Task) -> None:
    assert task.result is not None
    heading(f'Written, {when(task)}')
    with block('ul'):
        for path in task.result['files'].values():
            with block('li'):
                link = text('a', path)
                link.props.update({'href': f'/files/exports/{quote(path)}', 'download': ''})
    for note in task.result['notes']:
        text('p', f'Note: {note}', 'soft')
