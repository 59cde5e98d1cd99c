"""The step of the recordings: what there is, whether it is described, and whether it is good."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui

from sysid_ros.studio.folder import RecordingEntry
from sysid_ros.studio.jobs import CheckJob, SettingsJob
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import answered
from sysid_ros.studio.page.parts import (
    Column,
    block,
    button,
    duration,
    heading,
    light,
    named,
    number,
    table,
    text,
)
from sysid_ros.studio.page.progress import outcome, progress, when
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Task

_LEAD = ('What was recorded, and whether it is good enough to be fitted: stamps, motion, encoders '
         'and efforts, each with what mends it.')
_KINDS = {'settings': 'described by a settings file', 'folder': 'with its settings',
          'bag': 'a bag without settings', 'table': 'a table without settings'}
# A light of a joint by what it is the light of.
_JOINT_LIGHTS = (
    ('range_light', 'Range'), ('moving_light', 'Motion'), ('encoder_light', 'Encoders'),
    ('torque_light', 'Torques'), ('usable_light', 'Samples'))


def recordings_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'recordings', _LEAD) as frame:
        frame.live(lambda: _list_key(studio), lambda: _list(studio))
        frame.live(lambda: _key(studio), lambda: _draw(frame, studio))


def _task(studio: Studio, name: str) -> Task | None:
    return studio.task('check', name)


def _state(studio: Studio, name: str) -> object:
    tasks = [studio.task(kind, name) for kind in ('check', 'settings')]
    return [None if task is None else (task.asked, task.phase, studio.is_old(task))
            for task in tasks]


def _list_key(studio: Studio) -> object:
    return studio.choices.recording, [
        (entry, _state(studio, entry.name)) for entry in studio.contents.recordings]


def _key(studio: Studio) -> object:
    chosen = studio.choices.recording
    return studio.contents.recording(chosen), _state(studio, chosen), studio.contents.descriptions


def _list(studio: Studio) -> None:
    entries = studio.contents.recordings
    if not entries:
        with block('div', 'card notice'):
            text('span', 'There is no recording in the folder: put a bag, a CSV, NPZ or Parquet '
                 'file, or a settings file into it. The page sees it by itself.')
        return
    table('recordings of the folder', [
        Column('Recording'), Column('What it is'), Column('Data'), Column('Checked')], [
        [partial(_name, studio, entry), _KINDS[entry.kind], partial(_summary, studio, entry.name),
         _checked(studio, entry.name)]
        for entry in entries])
    if studio.contents.more:
        text('p', 'There is more in the folder than is listed.', 'soft')
    with block('div', 'beside'):
        button('Check all', guarded(lambda: [
            studio.begin(_check(studio, entry)) for entry in entries]))


def _check(studio: Studio, entry: RecordingEntry) -> CheckJob:
    """The check of a recording; where no settings name its robot, the only one of the folder."""
    descriptions = studio.contents.descriptions
    guessed = descriptions[0] if len(descriptions) == 1 and not entry.described else ''
    return CheckJob(recording=entry.name, robot=guessed)


def _name(studio: Studio, entry: RecordingEntry) -> None:
    chosen = entry.name == studio.choices.recording
    made = ui.button(entry.name, color='primary' if chosen else 'grey-8', on_click=guarded(
        lambda: studio.choose(recording=entry.name)))
    made.props('no-caps dense align=left ' + ('unelevated' if chosen else 'flat'))
    made.props['aria-pressed'] = 'true' if chosen else 'false'


def _summary(studio: Studio, name: str) -> None:
    task = _task(studio, name)
    if task is None:
        text('span', 'not checked yet', 'soft')
    elif task.phase.active:
        text('span', task.phase.value, 'soft')
    elif task.result is None:
        light('bad', 'cannot be checked')
    elif not task.result['usable']:
        light('bad', 'to be mended first')
    elif any(one['light'] != 'good' for one in task.result['lights']):
        light('look', 'worth a look')
    else:
        light('good')


def _checked(studio: Studio, name: str) -> str:
    task = _task(studio, name)
    if task is None or task.phase.active:
        return ''
    return 'changed since' if studio.is_old(task) else when(task)


def _draw(frame: Frame, studio: Studio) -> None:
    entry = studio.contents.recording(studio.choices.recording)
    if entry is None:
        return
    text('h3', entry.name)
    task = _task(studio, entry.name)
    if not entry.described:
        _describe(frame, studio, entry)
    if task is None or not task.phase.active:
        button('Check it' if task is None else 'Check it again', guarded(
            lambda: studio.begin(_check(studio, entry))), main=task is None)
    if task is None:
        return
    if task.phase.active:
        progress(frame, task)
    elif outcome(task):
        assert task.result is not None
        _result(task.result)


def _describe(frame: Frame, studio: Studio, entry: RecordingEntry) -> None:
    """What writes the settings of a recording, and asks what it does not tell."""
    task = studio.task('settings', entry.name)
    with block('div', 'card'):
        text('strong', 'No settings say yet what this recording is of')
        text('p', 'They are guessed from it, and written beside it with what speaks for each '
             'guess. What it does not tell is asked here.', 'soft')
        descriptions = list(studio.contents.descriptions)
        if not descriptions:
            text('p', 'Put the URDF, xacro or MJCF of its robot into the folder first.')
            return
        if task is not None and task.phase.active:
            progress(frame, task)
            return
        questions = _questions(task)
        if task is not None and not questions:
            outcome(task)
        _settings_form(studio, entry.name, descriptions, questions, task)


def _questions(task: Task | None) -> list[Mapping[str, str]]:
    if task is None or task.error is None:
        return []
    questions: list[Mapping[str, str]] = task.error['questions']
    return questions


def _settings_form(
    studio: Studio, recording: str, descriptions: list[str],
    questions: list[Mapping[str, str]], task: Task | None,
) -> None:
    before = task.job if task is not None and isinstance(task.job, SettingsJob) else None
    first = before.robot if before is not None and before.robot in descriptions else descriptions[0]
    robot = ui.select(descriptions, label='Its robot', value=first).props('outlined dense')
    answers = answered(questions)

    def write() -> None:
        told_before = {} if before is None else before.answers
        studio.begin(SettingsJob(
            recording=recording, robot=robot.value, answers=told_before | answers()))

    button('Write its settings', guarded(write), main=True)


def _result(result: Mapping[str, Any]) -> None:
    good = result['usable']
    with block('div', f'card {"fine" if good else "error"}'):
        light('good' if good else 'bad', result['verdict'])
    heading('Data quality')
    table('lights of the recording', [
        Column('Light'), Column('Of'), Column('What was found'), Column('What mends it')], [
        [partial(light, one['light']), partial(named, one['name']), one['text'], one['cure']]
        for one in result['lights']])
    _joints(result)
    for note in result['notes']:
        text('p', note, 'soft')
    if result['guessed']:
        heading('Guessed, since no settings say it')
        table('guesses', [Column('What'), Column('Guess'), Column('Why')], [
            [one['subject'], one['value'], one['evidence']] for one in result['guessed']])


def _joints(result: Mapping[str, Any]) -> None:
    heading('Joint by joint')
    text('p', f'{duration(result["duration"])} at {number(result["rate"])} Hz. In rad/s and N·m; '
         'm/s and N of prismatic joints.', 'soft')
    table('quality of the data by joint', [
        Column('Joint'), Column('Fastest', figure=True), Column('RMS torque', 'RMS', figure=True),
        Column('Noise', figure=True), Column('Bits', 'encoder', figure=True),
        *(Column(name, name) for _, name in _JOINT_LIGHTS)], [
        [joint['joint'], number(joint['fastest'], 3), number(joint['torque_rms'], 3),
         number(joint['torque_noise'], 2), number(joint['encoder_bits'], 3),
         *(partial(light, joint[key]) for key, _ in _JOINT_LIGHTS)]
        for joint in result['joints']])
