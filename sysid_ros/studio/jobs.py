"""What the page has done by a process beside the server, as plain values."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sysid_ros.settings import StrictSettings

#: How a fit is judged: by the last part of each recording, another recording, or stretches in turn.
JudgedBy = Literal['holdout', 'validate', 'folds', 'nothing']
#: Formats that parameters are exported in; those after the first two are of drives and simulators.
EXPORT_FORMATS = ('description', 'yaml', 'isaac_lab', 'mjcf', 'ros2_control', 'sdf', 'usd')


_Coordinate = Annotated[float, Field(ge=-1000.0, le=1000.0)]
_Corner = tuple[_Coordinate, _Coordinate, _Coordinate]


class StandingBox(StrictSettings):
    """A box that stands around a robot, as somebody types it.

    Attributes:
        name: What it is.
        lower: Corner with the smallest coordinates in the base frame in [m].
        upper: Corner with the largest; where it is none, no plan is written.
    """

    # The terminal takes NAME=X,Y,Z,X,Y,Z.
    name: str = Field(min_length=1, max_length=64, pattern=r'^[^=]*$')
    lower: _Corner
    upper: _Corner

    @property
    def option(self) -> str:
        """What ``sysid init excite --box`` takes for it."""
        corners = ','.join(f'{value:g}' for value in (*self.lower, *self.upper))
        return f'{self.name}={corners}'


class Job(StrictSettings):
    """Something to do, with names of entries of the folder.

    Attributes:
        kind: What it is.
    """

    kind: ClassVar[str] = ''

    @property
    def subject(self) -> str:
        """What it is done of; there is one job of a kind and a subject at a time."""
        raise NotImplementedError

    @property
    def reads(self) -> tuple[str, ...]:
        """Entries whose change makes what came of it old."""
        return ()


class DescriptionJob(Job):
    """Check a robot description and say what torques can tell of it.

    Attributes:
        source: A description, or settings that name one.
    """

    kind = 'description'
    source: str

    @property
    def subject(self) -> str:
        """The description."""
        return self.source

    @property
    def reads(self) -> tuple[str, ...]:
        """The description."""
        return (self.source,)


class CheckJob(Job):
    """Say whether a recording is good enough to be fitted.

    Attributes:
        recording: The recording.
        robot: Description of its robot where no settings name one; empty for what a bag has of it.
    """

    kind = 'check'
    recording: str
    robot: str = ''

    @property
    def subject(self) -> str:
        """The recording."""
        return self.recording

    @property
    def reads(self) -> tuple[str, ...]:
        """The recording."""
        return (self.recording,)


class SettingsJob(Job):
    """Write the settings of a recording that has none, as ``sysid init`` does.

    Attributes:
        recording: The recording.
        robot: Description of its robot.
        answers: What the recording does not tell, by the name of the option.
    """

    kind = 'settings'
    recording: str
    robot: str
    answers: dict[str, str] = {}

    @property
    def subject(self) -> str:
        """The recording."""
        return self.recording


class EstimatorsJob(Job):
    """Say which estimators there are.

    Attributes:
        version: Of the package.
    """

    kind = 'estimators'
    version: str

    @property
    def subject(self) -> str:
        """The version."""
        return self.version


class PlanJob(Job):
    """Write the settings of motions, as ``sysid init excite`` does.

    Attributes:
        robot: Description of the robot.
        srdf: MoveIt's SRDF; empty for none.
        boxes: What stands around the robot.
        answers: What the description does not tell, by the name of the option.
    """

    kind = 'plan'
    robot: str
    srdf: str = ''
    boxes: tuple[StandingBox, ...] = ()
    answers: dict[str, str] = {}

    @property
    def subject(self) -> str:
        """The description."""
        return self.robot

    def options(self) -> list[str]:
        """What ``sysid init excite`` takes in its place, the description included."""
        srdf = ['--srdf', self.srdf] if self.srdf else []
        return [self.robot, *srdf, *(
            word for box in self.boxes for word in ('--box', box.option)), *(
            f'--{option}={answer}' for option, answer in self.answers.items())]


class MotionJob(Job):
    """Design a motion, as ``sysid excite`` does.

    Attributes:
        plan: Its settings.
        speed: How fast it is played, in parts of what is designed.
        output: Name of its folder.
    """

    kind = 'motion'
    plan: str
    speed: float = Field(default=1.0, gt=0.0, le=1.0)
    output: str

    @property
    def subject(self) -> str:
        """All motions are designed one after the other."""
        return 'motion'

    def options(self) -> list[str]:
        """What ``sysid excite`` takes in its place, settings included."""
        speed = [] if self.speed == 1.0 else ['--speed', f'{self.speed:g}']
        return [self.plan, *speed, '-o', self.output]


class StudioFitJob(Job):
    """Fit recordings, as ``sysid fit`` does.

    Attributes:
        recordings: The recordings; robot and fit are those of the first.
        estimator: Name of an estimator, ``all`` to compare them; empty for what settings say.
        judged_by: How it is judged.
        validation: The other recording to judge by.
        holdout: Last part of each recording to judge by.
        folds: Stretches that take turns in being left out.
        output: Name of the run.
    """

    kind = 'fit'
    recordings: tuple[str, ...] = Field(min_length=1)
    estimator: str = ''
    judged_by: JudgedBy = 'holdout'
    validation: str = ''
    holdout: float = Field(default=0.3, gt=0.0, lt=1.0)
    folds: int = Field(default=5, ge=2)
    output: str

    @property
    def subject(self) -> str:
        """All fits are one after the other."""
        return 'fit'

    def options(self) -> list[str]:
        """What ``sysid fit`` takes in its place, recordings included."""
        judged = {
            'holdout': ['--holdout', f'{self.holdout:g}'], 'folds': ['--folds', str(self.folds)],
            'validate': ['--validate', self.validation], 'nothing': []}[self.judged_by]
        estimator = ['--estimator', self.estimator] if self.estimator else []
        return [*self.recordings, *judged, *estimator, '-o', self.output]


class ComparisonJob(Job):
    """Compare runs, as ``sysid compare`` does.

    Attributes:
        runs: The runs, in the order in which they were recorded.
        output: Name of the page to write.
    """

    kind = 'comparison'
    runs: tuple[str, ...] = Field(min_length=2)
    output: str = 'comparison.html'

    @property
    def subject(self) -> str:
        """The runs."""
        return '\n'.join(self.runs)

    @property
    def reads(self) -> tuple[str, ...]:
        """The runs."""
        return self.runs


class ExportJob(Job):
    """Write the parameters of a run for other programs, as ``sysid export`` does.

    Attributes:
        run: The run.
        formats: Some of :data:`EXPORT_FORMATS`.
    """

    kind = 'export'
    run: str
    formats: tuple[str, ...] = Field(min_length=1)

    @property
    def subject(self) -> str:
        """The run."""
        return self.run


class PageJob(Job):
    """Write the page of a run anew, as ``sysid report`` does.

    Attributes:
        run: The run.
    """

    kind = 'page'
    run: str

    @property
    def subject(self) -> str:
        """The run."""
        return self.run


#: Jobs by kind.
KINDS: dict[str, type[Job]] = {
    job.kind: job for job in (
        DescriptionJob, CheckJob, SettingsJob, PlanJob, MotionJob, EstimatorsJob, StudioFitJob,
        ComparisonJob, ExportJob, PageJob)}


def job_of(note: dict[str, Any]) -> Job:
    """A job as it was noted: its kind, and its fields."""
    return KINDS[note['kind']].model_validate(note['fields'])
