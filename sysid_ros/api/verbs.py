"""Fit, validate, tell a payload, export: the verbs of the terminal as functions."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sysid_ros.api.recording import Recording
from sysid_ros.api.run import Run
from sysid_ros.api.settings import (
    Robot,
    Sections,
    Settings,
    identification,
    joint_names,
    robot_section,
    sections_of,
)
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.numerics.threads import one_blas_thread
from sysid_ros.report.drawing import Undrawn
from sysid_ros.runs.fit import ALL, fit_to_folder
from sysid_ros.runs.loads import find_payload
from sysid_ros.runs.run_folder import RECORDINGS, RunFolder
from sysid_ros.runs.validation import Validation

# Last part of each recording that is kept to judge by, where nothing else is said.
_HOLDOUT = 0.3


@one_blas_thread()
def fit(
    robot: Robot | None = None,
    recording: Recording | Sequence[Recording] | None = None,
    *,
    settings: Settings | Sections | str | Path | None = None,
    estimator: str | None = None,
    holdout: float | None = None,
    validation: Recording | None = None,
    folds: int = 0,
    folder: str | Path | None = None,
    preset: str | None = None,
    automatic: bool | None = None,
    terms: Mapping[str, Any] | None = None,
    processing: Mapping[str, Any] | None = None,
    fit: Mapping[str, Any] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Run:
    """Fit recordings of a robot, and judge the fit by data that it has not seen.

    It goes the way of ``sysid fit``: what is left open, the data decides.

    Args:
        robot: URDF, xacro or MJCF file; the ``robot:`` section of a settings file; or a model.
            That of ``settings`` where left out.
        recording: What was recorded; several recordings are fitted with the same parameters. That
            of ``settings`` where left out.
        settings: A settings file, its sections, or both as an object; what it says is not said
            again.
        estimator: Name of the estimator, or ``'all'`` to compare them; ``'entropic'`` where
            ``fit`` does not name one.
        holdout: Last part of each recording to judge by, between 0 and 1; 0.3 where neither
            ``validation`` nor ``folds`` is given.
        validation: Another recording to judge by.
        folds: Stretches of the recordings to leave out in turn; 0 for none.
        folder: Run folder to write, with figures; by default a temporary one without, see
            :class:`Run`.
        preset: See :data:`~sysid_ros.estimation.presets.PRESETS`.
        automatic: Whether the data decides what the sections leave open; it does where nothing is
            said.
        terms: Section ``robot: terms:`` of a settings file.
        processing: Section ``processing:``.
        fit: Section ``fit:``.
        known: Section ``known:``.

    Raises:
        SysidError: Settings, robot or a recording cannot be used; what was found, what is
            allowed and what to do is said.
    """
    given = _opened_settings(settings)
    recordings = _several(_or_that_of(given, 'recording', recording))
    kept = _kept_to_judge_by(holdout, validation, folds)
    others = {'preset': preset, 'automatic': automatic, 'processing': processing, 'known': known}
    with _run_folder(folder) as run, tempfile.TemporaryDirectory(prefix='sysid_robot_') as beside:
        sections = sections_of(
            _robot_of(given, robot, Path(beside)), terms, None if estimator == ALL else estimator,
            fit, others, given)
        sources = _sources(run / RECORDINGS, recordings, validation)
        first, *more = _described(sources, sections, None if given is None else given.base)
        judge = None if validation is None else more.pop()
        done = fit_to_folder(
            first, run, estimator=estimator or first.settings.fit.estimator, others=more,
            validation=judge, holdout=kept, folds=folds,
            drawing=Undrawn() if folder is None else None,
            write_recordings=partial(_write, sources))
    result = Run(run, done.note)
    if folder is None:
        weakref.finalize(result, _remove, run.parent, os.getpid())
    return result


def _opened_settings(settings: Settings | Sections | str | Path | None) -> Settings | None:
    if isinstance(settings, (str, Path)):
        return Settings.load(settings)
    return Settings(settings) if isinstance(settings, Mapping) else settings


def _or_that_of(settings: Settings | None, name: str, value: Any) -> Any:
    """A robot or recording, or that of settings where none is given."""
    own = None if settings is None else (
        settings.recording() if name == 'recording' else settings.sections.get(name))
    if value is None and own is None:
        raise ConfigurationError(
            f'there is no {name}', where='fit(robot, recording)', found='None',
            fix="Give it: fit('robot.urdf', Recording.from_arrays(t, q, tau)), or a settings file "
            "that has it: fit(settings='first.yaml')")
    return own if value is None else value


def _robot_of(settings: Settings | None, robot: Robot | None, beside: Path) -> dict[str, Any]:
    """The ``robot:`` section; file names are relative to the folder of the settings, if any."""
    said = None if settings is None else settings.sections.get('robot')
    if said is not None and robot is not None:
        raise ConfigurationError(
            'robot is said twice', where='fit(robot, …, settings=…)', found=f'{robot} and {said}',
            fix='Say it once')
    if settings is not None and isinstance(robot, (str, Path)):
        robot = Path(robot).absolute()
    return robot_section(_or_that_of(settings, 'robot', robot), beside)


def _kept_to_judge_by(
    holdout: float | None, validation: Recording | None, folds: int
) -> float | None:
    """Last part of each recording to judge by; None where something else is there for it."""
    if validation is not None and holdout is not None:
        raise ConfigurationError(
            'a fit is judged by a part of its recordings or by another one', where='fit(…)',
            found='holdout and validation', allowed='one of them',
            fix='Leave out holdout')
    if validation is None and not folds and holdout is None:
        return _HOLDOUT
    return holdout


def validate(run: Run | str | Path, recording: Recording, *, name: str | None = None) -> Validation:
    """Predict another recording with the parameters of a fit, and judge them by it.

    Args:
        run: The fit, or its folder.
        recording: The recording.
        name: See :meth:`Run.validate`.

    Raises:
        SysidError: The run or the recording cannot be used.
    """
    return _opened(run).validate(recording, name=name)


def export(
    run: Run | str | Path, path: str | Path | None = None, *, yaml: str | Path | None = None,
    isaac_lab: str | Path | None = None, mjcf: str | Path | None = None,
    ros2_control: str | Path | None = None, sdf: str | Path | None = None,
    usd: str | Path | None = None,
) -> tuple[str, ...]:
    """Write the parameters of a fit in the format of its description, or as YAML.

    Args:
        run: The fit, or its folder.
        path: See :meth:`Run.export`.
        yaml: See there.
        isaac_lab: See there.
        mjcf: See there.
        ros2_control: See there.
        sdf: See there.
        usd: See there.

    Returns:
        Notes on what the description cannot hold.

    Raises:
        SysidError: The run cannot be used, or a file cannot be written.
    """
    return _opened(run).export(
        path, yaml=yaml, isaac_lab=isaac_lab, mjcf=mjcf, ros2_control=ros2_control, sdf=sdf,
        usd=usd)


@one_blas_thread()
def payload(
    loaded: Recording, empty: Recording | Run, *, robot: Robot | None = None,
    link: str | None = None, processing: Mapping[str, Any] | None = None,
) -> PayloadEstimate:
    """Identify the load between a recording with it and one without.

    Args:
        loaded: The recording with the load.
        empty: A recording without it, or a fit of one, which brings its robot along.
        robot: The robot, as for :func:`fit`, where ``empty`` is a recording.
        link: Link that carries the load, in whose frame it is told; by default the last one.
        processing: Section ``processing:`` of a settings file.

    Raises:
        ConfigurationError: It is not said what robot it is, or it is said twice.
        SysidError: A recording cannot be used, or tells nothing of a load.
    """
    if (robot is None) != isinstance(empty, Run):
        raise ConfigurationError(
            'the robot is that of the run' if robot is not None else 'there is no robot',
            where='payload(…)', fix='Leave robot= out' if robot is not None else
            "Add robot='robot.urdf', or give a run in place of the empty recording")
    with tempfile.TemporaryDirectory(prefix='sysid_payload_') as name:
        folder = Path(name)
        sources = {folder / 'loaded.npz': loaded}
        if isinstance(empty, Recording):
            sources[folder / 'empty.npz'] = empty
        for file, source in sources.items():
            source.write(file)
        sections = {} if processing is None else {'processing': dict(processing)}
        if isinstance(empty, Run):
            joints = empty.robot.limb_joints if loaded.needs_joints else ()
            settings = identification(
                empty.guessed(loaded), folder / 'loaded.npz', sections, joints)
            return find_payload(settings, RunFolder.open(empty.folder), link).estimate
        assert robot is not None  # refused above
        first, second = _described(sources, sections | {'robot': robot_section(robot, folder)})
        return find_payload(first, second, link).estimate


def _several(recording: Recording | Sequence[Recording]) -> tuple[Recording, ...]:
    recordings = (recording,) if isinstance(recording, Recording) else tuple(recording)
    strange = [one for one in recordings if not isinstance(one, Recording)]
    if strange or not recordings:
        raise ConfigurationError(
            'is no recording', where='fit(robot, recording)',
            found=type(strange[0]).__name__ if strange else 'an empty list',
            allowed='a Recording, or several',
            fix='Make one with Recording.from_arrays(t, q, tau), from_csv, from_dataframe or '
            'from_bag')
    return recordings


def _sources(
    folder: Path, recordings: Sequence[Recording], validation: Recording | None
) -> dict[Path, Recording]:
    """Recordings by the files that their arrays get, that to judge by last."""
    files = [f'recording_{k}' if k > 1 else 'recording' for k in range(1, len(recordings) + 1)]
    sources = {folder / f'{file}.npz': one for file, one in zip(files, recordings, strict=True)}
    return sources | ({} if validation is None else {folder / 'validation.npz': validation})


def _write(sources: Mapping[Path, Recording]) -> None:
    """Write recordings that are arrays as the files that they get."""
    for file, source in sources.items():
        source.write(file)


def _described(
    sources: Mapping[Path, Recording], sections: Mapping[str, Any], base: Path | None = None
) -> list[Identification]:
    """Settings of each recording; the first says what robot they are of, and how to fit it."""
    joints: tuple[str, ...] = ()
    folder = base or Path.cwd()
    sources = {file: one.guessed(sections['robot'], folder) for file, one in sources.items()}
    if any(one.needs_joints for one in sources.values()):
        joints = joint_names(sections['robot'], folder)
    if any(one.findings for one in sources.values()):
        # Joints that the files do not have, or that stood still in them, are held.
        sections = {**sections, 'robot': {'locked_joints': 'rest', **sections['robot']}}
    guessed = {
        key: value for one in sources.values()
        for key, value in (('actuators', one.actuators), ('base', one.base)) if value}
    sections = {**sections, 'robot': {**guessed, **sections['robot']}}
    further = {
        key: value for key, value in sections.items() if key not in ('robot', 'fit', 'known')}
    return [
        identification(one, file, further if number else sections, joints, base)
        for number, (file, one) in enumerate(sources.items())]


@contextmanager
def _run_folder(folder: str | Path | None) -> Iterator[Path]:
    """A folder to write a run into; a temporary one is removed if the fit fails."""
    if folder is not None:
        yield Path(folder).absolute()
        return
    temporary = Path(tempfile.mkdtemp(prefix='sysid_fit_'))
    try:
        yield temporary / 'fit'
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder, but not from a fork of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _opened(run: Run | str | Path) -> Run:
    return run if isinstance(run, Run) else Run.open(run)
