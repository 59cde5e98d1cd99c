"""The step of the fit: what is fitted, how it is judged, how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sysid_ros import __version__
from sysid_ros.studio.choices import Choices
from sysid_ros.studio.commands import command_of
from sysid_ros.studio.jobs import EstimatorsJob, StudioFitJob
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame, framed
from sysid_ros.studio.page.inputs import enable_while, quantity, selection, selections
from sysid_ros.studio.page.parts import block, button, light, terminal, text
from sysid_ros.studio.page.progress import last_task
from sysid_ros.studio.page.verdict import verdict_card
from sysid_ros.studio.studio import Studio

_LEAD = ('Parameters that physics allows, from one recording or several, judged by data that was '
         'not fitted.')
_JUDGED = {
    'holdout': 'the last part of each recording', 'validate': 'another recording',
    'folds': 'stretches that take turns in being left out', 'nothing': 'nothing: not committable'}


def fit_page(studio: Studio) -> None:
    """Draw the step.

    Args:
        studio: What is shown.
    """
    with framed(studio, 'fit', _LEAD) as frame:
        frame.live(lambda: bool(studio.contents.described), lambda: _nothing(studio))
        _inputs(frame, studio)
        enable_while(
            frame, button('Fit', guarded(lambda: _begin(studio)), main=True),
            lambda: bool(studio.choices.fitted) and studio.fitting is None)
        frame.live(lambda: _chosen(studio), lambda: _terminal(studio))
        last_task(frame, studio, 'fit', 'fit', lambda result: _result(studio, result))


def _nothing(studio: Studio) -> None:
    if not studio.contents.described:
        with block('div', 'card notice'):
            text('span', 'No recording of the folder has settings, which say what robot it is of. '
                 'The step Recordings writes them.')


def _inputs(frame: Frame, studio: Studio) -> None:
    with block('div', 'card') as card:
        frame.follow(card, lambda: studio.ensure(EstimatorsJob(version=__version__)))
        with block('div', 'beside'):
            selections(
                frame, 'Recordings to fit together; robot and fit are those of the first',
                lambda: studio.contents.described, lambda: studio.choices.fitted,
                lambda names: studio.choose(fitted=names))
        with block('div', 'beside'):
            selection(
                frame, 'Judged by', lambda: _JUDGED, lambda: studio.choices.judged_by,
                lambda way: studio.choose(judged_by=way or 'holdout'))
            selection(
                frame, 'Estimator', lambda: _estimators(studio),
                lambda: studio.choices.estimator, lambda name: studio.choose(estimator=name))
        frame.live(lambda: studio.choices.judged_by, lambda: _judged(frame, studio))


def _estimators(studio: Studio) -> Mapping[str, str]:
    """Estimators with what each is, as soon as that is known."""
    task, chosen = studio.task('estimators', __version__), studio.choices.estimator
    known = {} if task is None or task.result is None else task.result['estimators']
    return {'': 'what the settings say', 'all': 'all of them, and the best is taken'} | (
        {chosen: chosen} if chosen not in ('', 'all') else {}) | {
        name: f'{name}: {text}' for name, text in known.items()}


def _judged(frame: Frame, studio: Studio) -> None:
    way = studio.choices.judged_by
    with block('div', 'beside'):
        if way == 'holdout':
            quantity(frame, 'Part that is held out', 0.05, 0.9, 0.05,
                     lambda: studio.choices.holdout, lambda part: studio.choose(holdout=part))
        elif way == 'folds':
            quantity(frame, 'Stretches', 2, 50, 1, lambda: studio.choices.folds,
                     lambda count: studio.choose(folds=int(count)))
        elif way == 'validate':
            selection(
                frame, 'The other recording', lambda: {
                    name: name for name in studio.contents.described
                    if name not in studio.choices.fitted},
                lambda: studio.choices.validation, lambda name: studio.choose(validation=name))


def job_of_choices(choices: Choices, output: str) -> StudioFitJob | None:
    """The fit that is chosen; None where nothing is.

    Args:
        choices: What is chosen.
        output: Name of the run.
    """
    if not choices.fitted:
        return None
    return StudioFitJob(
        recordings=choices.fitted, estimator=choices.estimator, judged_by=choices.judged_by,
        validation=choices.validation if choices.judged_by == 'validate' else '',
        holdout=choices.holdout, folds=choices.folds, output=output)


def _chosen(studio: Studio) -> StudioFitJob | None:
    return job_of_choices(studio.choices, studio.free_run(studio.choices))


def _begin(studio: Studio) -> None:
    if job := _chosen(studio):
        studio.begin(job)


def _terminal(studio: Studio) -> None:
    if job := _chosen(studio):
        terminal(command_of(job, studio.folder.root))


def _result(studio: Studio, result: Mapping[str, Any]) -> None:
    if not result['converged']:
        with block('div', 'card error'):
            light('bad', result['status'])
    verdict_card(result['verdict'], result['headline'])
    with block('details'):
        text('summary', 'All figures, as a terminal prints them')
        text('pre', result['brief'], 'sheet')
    if result['note']:
        text('p', result['note'], 'soft')

    def show() -> None:
        studio.choose(run=result['run'])
        ui.navigate.to('/report')

    button('Read the report', guarded(show), main=True)
