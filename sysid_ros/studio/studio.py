"""The state that all browsers see: what the folder holds, what is chosen, what is being done."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.studio.choices import Choices
from sysid_ros.studio.commands import command_of
from sysid_ros.studio.error_notes import error_note
from sysid_ros.studio.folder import Contents, StudioFolder
from sysid_ros.studio.job_process import JobProcess
from sysid_ros.studio.jobs import Job, MotionJob, PlanJob, SettingsJob, StudioFitJob
from sysid_ros.studio.notes import Notes, fingerprint
from sysid_ros.studio.tasks import Phase, Task

_CHOICES, _TASKS = 'choices', 'tasks'
# Least time between two looks at the folder in [s].
_LOOK = 1.0
# Jobs at a time, apart from fits and designs of motions, of which there is one.
_BESIDE = 1


class Studio:
    """One folder, as the page shows it.

    Args:
        folder: The folder.

    Attributes:
        folder: The folder.
        version: Grows with every change that a page may show.
        trouble: Why something could not be done by itself; empty where all could.
    """

    def __init__(self, folder: StudioFolder) -> None:
        self.folder, self.version, self.trouble = folder, 0, ''
        self._notes = Notes(folder.notes)
        self._tasks: dict[tuple[str, str], Task] = {}
        self._old: frozenset[tuple[str, str]] = frozenset()
        self._running: set[asyncio.Task[None]] = set()
        self._lanes = {True: asyncio.Semaphore(1), False: asyncio.Semaphore(_BESIDE)}
        self._contents, self._looked, self._closing = Contents(), -_LOOK, False
        for note in self._notes.all(_TASKS):
            task = Task.of_note(note)
            if task is not None:
                self._tasks[task.job.kind, task.job.subject] = task
        self._choices = self._noted_choices()

    # What is there

    @property
    def contents(self) -> Contents:
        """What the folder holds, as it was within the last second."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            contents = self.folder.contents()
            old = frozenset(
                key for key, task in self._tasks.items()
                if not task.phase.active and task.reads != self._reads(task.job))
            # Not before: what takes long is not begun again at once.
            self._looked = time.monotonic()
            if (contents, old) != (self._contents, self._old):
                self._contents, self._old = contents, old
                self.touch()
        return self._contents

    @property
    def choices(self) -> Choices:
        """What is chosen, as far as it is there."""
        return self._choices.within(self.contents)

    def choose(self, **changes: Any) -> None:
        """Choose something else.

        Args:
            changes: New values by field of :class:`~sysid_ros.studio.choices.Choices`.

        Raises:
            ConfigurationError: A value is none of its field.
            ReleaseError: It cannot be noted.
        """
        try:
            chosen = self.choices.with_changes(changes)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ConfigurationError(
                f'is not what can be chosen: {first["msg"]}',
                where='.'.join(map(str, first['loc'])), found=repr(first.get('input'))[:80],
                fix='Choose one of the list') from error
        if chosen != self._choices:
            self._choices = chosen
            self._notes.write(_CHOICES, chosen.model_dump(mode='json'))
            self.touch()

    def touch(self) -> None:
        """Let pages show what is new."""
        self.version += 1

    # What is done

    def task(self, kind: str, subject: str) -> Task | None:
        """The last job of a kind and a subject; None where nobody asked for one."""
        return self._tasks.get((kind, subject))

    def is_old(self, task: Task) -> bool:
        """Whether what a task was done of has changed since."""
        return (task.job.kind, task.job.subject) in self._old

    @property
    def fitting(self) -> Task | None:
        """The fit that is waited for, or under way; None for none."""
        task = self.task('fit', 'fit')
        return task if task is not None and task.phase.active else None

    def ensure(self, job: Job) -> None:
        """Have a job done that was not, or that is old; an error is the :attr:`trouble`."""
        task = self.task(job.kind, job.subject)
        if task is not None and task.phase is not Phase.INTERRUPTED and (
                task.phase.active or not self.is_old(task)):
            return
        try:
            self.begin(job)
            trouble = ''
        except SysidError as error:
            trouble = str(error)
        if trouble != self.trouble:
            self.trouble = trouble
            self.touch()

    def begin(self, job: Job) -> Task:
        """Have a job done; the one that is under way where it was asked for already.

        Args:
            job: The job.

        Raises:
            ConfigurationError: It names no entry of the folder, or a fit is under way.
            ReleaseError: It cannot be noted.
        """
        before = self.task(job.kind, job.subject)
        if before is not None and before.phase.active:
            if before.job != job:
                raise ConfigurationError(
                    'another one is under way', where=job.kind, found=before.command,
                    fix='Wait for its end, or stop it')
            return before
        self._require_names(job)
        task = Task(job, command_of(job, self.folder.root), self._reads(job), asked=time.time())
        # Before it is one of the tasks: what cannot be noted is not begun.
        self._note(task)
        self._tasks[job.kind, job.subject] = task
        self._old -= {(job.kind, job.subject)}
        running = asyncio.get_running_loop().create_task(self._run(task))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return task

    async def stop(self, task: Task) -> None:
        """Stop a job; what was not complete is not kept."""
        if task.process is not None:
            await task.process.stop()
        elif task.phase is Phase.WAITING:
            task.phase = Phase.INTERRUPTED if self._closing else Phase.STOPPED
            task.ended = time.time()
            self._note(task)

    async def close(self) -> None:
        """Stop all jobs, which are noted as interrupted."""
        self._closing = True
        for task in list(self._tasks.values()):
            if task.phase.active:
                await self.stop(task)
        await asyncio.gather(*self._running, return_exceptions=True)

    def free_run(self, choices: Choices) -> str:
        """A name of a run that is not there yet, by what is fitted."""
        first = Path(choices.fitted[0]) if choices.fitted else Path('run')
        together = f'+{len(choices.fitted) - 1}' if len(choices.fitted) > 1 else ''
        name = f'runs/{first.stem}{together}' + (
            f'-{choices.estimator}' if choices.estimator else '')
        return self._free(name)

    def free_motion(self, choices: Choices) -> str:
        """A name of a motion that is not there yet, by its plan."""
        return self._free(f'motions/{Path(choices.plan).stem}')

    def _free(self, name: str) -> str:
        """A name of which nothing is there yet: with a number behind it, if it has to be."""
        number, free = 2, name
        while (self.folder.root / free).exists():
            free, number = f'{name}-{number}', number + 1
        return free

    async def _run(self, task: Task) -> None:
        try:
            async with self._lanes[isinstance(task.job, StudioFitJob | MotionJob)]:
                if task.phase is not Phase.WAITING:
                    return
                task.process = JobProcess(task.job, task.command, self.folder.root, self.touch)
                task.phase = Phase.RUNNING
                self._note(task)
                await task.process.run()
            task.conclude(closing=self._closing)
            self._note(task)
            self._show(task)
        except SysidError as error:
            # What cannot be noted is shown all the same.
            task.phase, task.error, task.ended = Phase.FAILED, error_note(error), time.time()
            self.touch()

    def _show(self, task: Task) -> None:
        """Choose what a job has made, so that the next step has it."""
        self._looked = -_LOOK
        if task.result is None:
            return
        if isinstance(task.job, StudioFitJob):
            self.choose(run=task.result['run'])
        elif isinstance(task.job, SettingsJob):
            self.choose(recording=task.result['settings'])
        elif isinstance(task.job, PlanJob):
            self.choose(plan=task.result['plan'])
        elif isinstance(task.job, MotionJob):
            self.choose(motion=task.result['motion'])

    def _note(self, task: Task) -> None:
        self._notes.write(_TASKS, task.note(), f'{task.job.kind}\0{task.job.subject}')
        self.touch()

    def _noted_choices(self) -> Choices:
        try:
            return Choices.model_validate(self._notes.read(_CHOICES) or {})
        except (ValidationError, ConfigurationError):
            return Choices()

    def _reads(self, job: Job) -> str:
        return fingerprint({name: self.folder.root / name for name in job.reads})

    def _require_names(self, job: Job) -> None:
        """Refuse a job of what the folder does not list.

        Raises:
            ConfigurationError: A name is not in the list, or would lead out of the folder.
        """
        contents = self.contents
        recordings = [entry.name for entry in contents.recordings]
        sources = (*contents.descriptions, *contents.described)
        for key, names in (
            ('source', sources), ('robot', contents.descriptions), ('recording', recordings),
            ('recordings', contents.described), ('validation', contents.described),
            ('run', contents.runs), ('runs', contents.runs), ('srdf', contents.srdfs),
            ('plan', contents.plans),
        ):
            value = getattr(job, key, ())
            for name in (value,) if isinstance(value, str) else value:
                if name and name not in names:
                    raise ConfigurationError(
                        'is not in the folder', where=key, found=repr(name[:80]),
                        allowed='what the page lists', fix='Choose one of the list')
        if isinstance(job, StudioFitJob | MotionJob):
            self.folder.path(job.output)
