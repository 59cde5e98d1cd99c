"""The step of the motion: what stands around the robot, and a motion that shows its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sysid_ros.runs.report_files import PAGE
from sysid_ros.studio.choices import Choices
from sysid_ros.studio.commands import command_of
from sysid_ros.studio.jobs import DescriptionJob, Job, MotionJob, PlanJob
from sysid_ros.studio.page.boxes import boxes_table, is_box
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import answered, enable_while, quantity, selection
from sysid_ros.studio.page.parts import (
    Column,
    block,
    button,
    heading,
    number,
    table,
    terminal,
    text,
)
from sysid_ros.studio.page.progress import last_task, outcome, progress
from sysid_ros.studio.page.report_page import embedded
from sysid_ros.studio.page.scene_view import SceneView
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Task

_LEAD = ('A motion that shows the parameters, within the limits of the robot and clear of itself '
         'and of what stands around it.')


def motion_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'motion', _LEAD) as frame:
        _surroundings(frame, studio)
        _plan(frame, studio)
        _design(frame, studio)
        last_task(frame, studio, 'motion', 'design', _result)
        frame.live(lambda: (bool(studio.contents.motions), studio.choices.motion,
                            _stamp(studio, studio.choices.motion)), lambda: _motion(frame, studio))


# What stands around the robot, and the plan

def _surroundings(frame: Frame, studio: Studio) -> None:
    heading('What stands around it')
    with block('div', 'card') as card:
        frame.follow(card, lambda: _ensure(studio))
        with block('div', 'beside'):
            selection(
                frame, 'Robot description',
                lambda: {name: name for name in studio.contents.descriptions},
                lambda: studio.choices.planned, lambda name: studio.choose(planned=name))
            selection(
                frame, "MoveIt's SRDF: links that may touch",
                lambda: {'': 'none: all but neighbours keep clear'} | {
                    name: name for name in studio.contents.srdfs},
                lambda: studio.choices.srdf, lambda name: studio.choose(srdf=name))
        frame.live(lambda: _scene_key(studio), lambda: _scene(frame, studio))
        boxes_table(frame, studio)


def _described(studio: Studio) -> Task | None:
    return studio.task('description', studio.choices.planned)


def _ensure(studio: Studio) -> None:
    """Have the robot drawn that is shown."""
    if source := studio.choices.planned:
        studio.ensure(DescriptionJob(source=source))


def _scene_key(studio: Studio) -> object:
    task = _described(studio)
    return studio.choices.planned, None if task is None else (task.asked, task.phase)


def _scene(frame: Frame, studio: Studio) -> None:
    task = _described(studio)
    if not studio.choices.planned:
        with block('div', 'card notice'):
            text('span', 'There is no robot description in the folder: put a URDF, xacro or MJCF '
                 'file into it. The page sees it by itself.')
    elif task is not None and task.phase.active:
        progress(frame, task)
    elif task is not None and outcome(task) and task.result and task.result['loadable']:
        view = SceneView(task.result['scene'], lambda name: f'/files/meshes/{name}')
        shown: list[object] = [()]

        def update() -> None:
            boxes = [(box.lower, box.upper) for box in studio.choices.boxes if is_box(box)]
            if boxes != shown[0]:
                shown[0] = boxes
                view.show_boxes(boxes)

        update()
        frame.follow(view.element, update)


def _plan_key(studio: Studio) -> object:
    task = studio.task('plan', studio.choices.planned)
    return studio.choices.planned, task and (task.asked, task.phase)


def plan_of_choices(choices: Choices, answers: Mapping[str, str]) -> PlanJob | None:
    """The plan that is asked for; None where no robot is chosen.

    Args:
        choices: What is chosen.
        answers: What the description does not tell.
    """
    if not choices.planned:
        return None
    return PlanJob(robot=choices.planned, srdf=choices.srdf, boxes=choices.boxes,
                   answers=dict(answers))


def _plan(frame: Frame, studio: Studio) -> None:
    """What writes the settings of motions, and asks what the description does not tell."""
    typed: list[Callable[[], dict[str, str]]] = []

    def asked() -> PlanJob | None:
        task = studio.task('plan', studio.choices.planned)
        before = task.job.answers if task is not None and isinstance(task.job, PlanJob) else {}
        return plan_of_choices(studio.choices, before | (typed[-1]() if typed else {}))

    def draw() -> None:
        typed[:] = [answered(_questions(frame, studio))]

    def write() -> None:
        if job := asked():
            studio.begin(job)

    frame.live(lambda: _plan_key(studio), draw)
    enable_while(
        frame, button('Write a plan', guarded(write), main=not studio.contents.plans),
        lambda: bool(studio.choices.planned))
    frame.live(
        lambda: (studio.choices, _plan_key(studio)), lambda: _terminal(studio, asked()))


def _questions(frame: Frame, studio: Studio) -> list[Mapping[str, str]]:
    """How far a plan is, and what is asked before it can be written."""
    task = studio.task('plan', studio.choices.planned)
    if task is None:
        return []
    if task.phase.active:
        progress(frame, task)
        return []
    questions: list[Mapping[str, str]] = [] if task.error is None else task.error['questions']
    if not questions and outcome(task):
        assert task.result is not None
        _findings(task.result)
    return questions


def _terminal(studio: Studio, job: Job | None) -> None:
    if job is not None:
        terminal(command_of(job, studio.folder.root))


def _findings(result: Mapping[str, Any]) -> None:
    with block('details'):
        text('summary', f'What {result["plan"]} says, and why')
        table('what the plan says', [Column('What'), Column('Value'), Column('Why')], [
            [one['subject'], one['value'], one['evidence']] for one in result['findings']])


# The motion

def _design(frame: Frame, studio: Studio) -> None:
    heading('A motion')
    with block('div', 'card'):
        frame.live(lambda: bool(studio.contents.plans), lambda: _no_plan(studio))
        with block('div', 'beside'):
            selection(
                frame, 'Plan', lambda: {name: name for name in studio.contents.plans},
                lambda: studio.choices.plan, lambda name: studio.choose(plan=name))
            quantity(frame, 'Speed, of what is designed', 0.05, 1.0, 0.05,
                     lambda: studio.choices.speed, lambda part: studio.choose(speed=part))
        enable_while(
            frame, button('Design', guarded(lambda: _begin(studio)), main=True),
            lambda: bool(studio.choices.plan) and not _designing(studio))
        frame.live(lambda: _motion_of_choices(studio),
                   lambda: _terminal(studio, _motion_of_choices(studio)))


def _no_plan(studio: Studio) -> None:
    if not studio.contents.plans:
        text('p', 'No file of the folder says how the robot may move: write a plan above.', 'soft')


def _designing(studio: Studio) -> bool:
    task = studio.task('motion', 'motion')
    return task is not None and task.phase.active


def _motion_of_choices(studio: Studio) -> MotionJob | None:
    """The motion that is asked for; None where no plan is chosen."""
    choices = studio.choices
    if not choices.plan:
        return None
    return MotionJob(plan=choices.plan, speed=choices.speed, output=studio.free_motion(choices))


def _begin(studio: Studio) -> None:
    if job := _motion_of_choices(studio):
        studio.begin(job)


def _result(result: Mapping[str, Any]) -> None:
    for remark in result['remarks']:
        text('p', remark, 'soft')
    with block('div', 'card fine'):
        text('span', f'{number(result["duration"])} s, can be stopped within '
             f'{number(result["stopping_time"], 2)} s; tells {result["well_known"]} of '
             f'{result["base_parameters"]} base parameters well. It is in {result["motion"]}/.')
    with block('details'):
        text('summary', 'All figures, as a terminal prints them')
        text('pre', result['text'], 'sheet')


def _stamp(studio: Studio, motion: str) -> int:
    """When the page of a motion was written; 0 where there is none."""
    try:
        return (studio.folder.root / motion / PAGE).stat().st_mtime_ns
    except OSError:
        return 0


def _motion(frame: Frame, studio: Studio) -> None:
    motions, shown = studio.contents.motions, studio.choices.motion
    if not motions:
        return
    heading('Motions that were designed')
    with block('div', 'beside'):
        selection(
            frame, 'Motion', lambda: {name: name for name in studio.contents.motions},
            lambda: studio.choices.motion, lambda name: studio.choose(motion=name))
    if stamp := _stamp(studio, shown):
        embedded(f'/files/motions/{quote(shown)}?{stamp}', f'motion {shown}')
