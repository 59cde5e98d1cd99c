"""The step of the description: is it right, and what can torques tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from sysid_ros.studio.jobs import DescriptionJob
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import selection
from sysid_ros.studio.page.parts import (
    Column,
    block,
    button,
    heading,
    light,
    number,
    table,
    term,
    text,
)
from sysid_ros.studio.page.progress import outcome, progress
from sysid_ros.studio.page.scene_view import SceneView
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Task

_LEAD = ('What the robot is before anything is measured: its faults, its masses, and which '
         'combinations of parameters torques can tell at all.')
# Lights of findings by severity.
_LIGHTS = {'FATAL': ('bad', 'cannot be loaded'), 'PRIOR': ('look', 'no prior'),
           'WARNING': ('look', 'with care')}


def description_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'description', _LEAD) as frame:
        with block('div', 'beside') as row:
            selection(
                frame, 'Robot description, or settings that name one',
                lambda: {name: name for name in (
                    *studio.contents.descriptions, *studio.contents.described)},
                lambda: studio.choices.description,
                lambda name: studio.choose(description=name))
        frame.follow(row, lambda: _ensure(studio))
        frame.live(lambda: _key(studio), lambda: _draw(frame, studio))


def _task(studio: Studio) -> Task | None:
    return studio.task('description', studio.choices.description)


def _key(studio: Studio) -> object:
    task = _task(studio)
    return studio.choices.description, None if task is None else (task.asked, task.phase)


def _ensure(studio: Studio) -> None:
    """Have the description checked that is shown, and again where its file has changed."""
    if source := studio.choices.description:
        studio.ensure(DescriptionJob(source=source))


def _draw(frame: Frame, studio: Studio) -> None:
    task, source = _task(studio), studio.choices.description
    if not source:
        with block('div', 'card notice'):
            text('span', 'There is no robot description in the folder: put a URDF, xacro or MJCF '
                 'file into it. The page sees it by itself.')
        return
    if task is None:
        return
    if task.phase.active:
        progress(frame, task)
        return
    if outcome(task):
        assert task.result is not None
        _result(studio, task.result)
    with block('div', 'beside'):
        button('Check it again', guarded(lambda: studio.begin(DescriptionJob(source=source))))


def _result(studio: Studio, found: Mapping[str, Any]) -> None:
    _findings(found['findings'])
    if not found['loadable']:
        return
    with block('div', 'split'):
        with block('section'):
            heading(f'{found["robot"]} in three dimensions')
            SceneView(found['scene'], lambda name: f'/files/meshes/{name}')
            if found['scene']['missing']:
                with block('div', 'card notice'):
                    text('strong', '! Not drawn')
                    for one in found['scene']['missing']:
                        text('div', f'{one["link"]}: {one["reason"]}')
        with block('section'):
            _bodies(found)
    _joints(found['joints'])
    _base(found)


def _findings(findings: list[Mapping[str, str]]) -> None:
    heading('Findings')
    if not findings:
        with block('div', 'card fine'):
            light('good', 'no fault was found in the description')
        return
    table('faults of the description', [
        Column('How bad'), Column('Where'), Column('What'), Column('What it means')], [
        [partial(light, *_LIGHTS[one['severity']]), one['element'], one['message'], one['means']]
        for one in findings])


def _bodies(found: Mapping[str, Any]) -> None:
    heading('Masses')
    text('p', f'{number(found["mass"])} kg on {len(found["bodies"])} moving bodies, as described. '
         'Moments of inertia are about the centre of mass.', 'soft')
    table('bodies', [
        Column('Body'), Column('Mass [kg]', figure=True), Column('Centre [m]', figure=True),
        Column('Moments [kg·m²]', 'inertia ellipsoid', figure=True)], [
        [body['name'], number(body['mass']), _triple(body['centre'], 3),
         _triple(body['moments'], 2)] for body in found['bodies']])
    for body in found['bodies']:
        if body['replaced']:
            with block('p'):
                light('look', body['name'])
                text('span', ': another ')
                term('prior')
                text('span', f' takes its place, since {body["replaced"]}')


def _joints(joints: list[Mapping[str, Any]]) -> None:
    heading('Joints')
    table('joints with their limits', [
        Column('Joint'), Column('Kind'), Column('Lower', figure=True),
        Column('Upper', figure=True), Column('Velocity', figure=True),
        Column('Effort', figure=True)], [
        [joint['name'], joint['kind'], *(number(joint.get(key)) for key in (
            'lower', 'upper', 'velocity', 'effort'))] for joint in joints])
    text('p', 'rad, rad/s and N·m; m, m/s and N of prismatic joints. A dash: no limit is given.',
         'soft')


def _base(found: Mapping[str, Any]) -> None:
    heading('What torques can tell', 'base parameters')
    if found['floating']:
        with block('div', 'card notice'):
            text('span', f'The base floats ({found["floating"]}): its motion has to be measured, '
                 'too. Say robot: {base: floating} with sensors on it in recording: sensors, or '
                 'robot: {base: fixed} where it was held.')
        return
    if found['loops']:
        text('p', f'Loops are closed at {", ".join(found["loops"])}.', 'soft')
    base = found['base']
    with block('p'):
        text('span', f'Of {base["standard"]} inertial parameters torques tell {base["inertial"]} ')
        term('base parameters')
        if base['all'] is not None:
            text('span', f'; {base["all"]} with {", ".join(base["terms"]).replace("_", " ")}')
        text('span', '.')
    if base['note']:
        text('p', base['note'], 'soft')
    with block('details'):
        text('summary', 'Every combination')
        with block('ul'):
            for equation in base['equations']:
                with block('li'):
                    text('code', equation)


def _triple(values: list[float] | None, digits: int) -> str:
    return number(None) if values is None else ' '.join(number(value, digits) for value in values)
