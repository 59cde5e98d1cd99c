"""What does the same as a job of the page in a terminal."""

from __future__ import annotations

import shlex
from pathlib import Path

from sysid_ros.studio.exports import export_files
from sysid_ros.studio.jobs import (
    CheckJob,
    ComparisonJob,
    DescriptionJob,
    ExportJob,
    Job,
    MotionJob,
    PageJob,
    PlanJob,
    SettingsJob,
    StudioFitJob,
)


def command_of(job: Job, root: Path) -> str:
    """The command line that does the same as a job, in a terminal in the folder.

    Args:
        job: The job.
        root: The folder.
    """
    match job:
        case DescriptionJob():
            words = ['model', job.source]
        case CheckJob():
            words = ['check', job.recording, *(['--robot', job.robot] if job.robot else [])]
        case SettingsJob():
            words = ['init', job.robot, job.recording, *(
                word for option, answer in job.answers.items() for word in (f'--{option}', answer))]
        case PlanJob():
            words = ['init', 'excite', *job.options()]
        case MotionJob():
            words = ['excite', *job.options()]
        case StudioFitJob():
            words = ['fit', *job.options()]
        case ComparisonJob():
            words = ['compare', *job.runs, '-o', job.output]
        case ExportJob():
            words = ['export', job.run]
            for name, path in export_files(root, job.run, job.formats).items():
                option = '-o' if name == 'description' else f'--{name.replace("_", "-")}'
                words += [option, path.as_posix()]
        case PageJob():
            words = ['report', job.run]
        case _:
            words = ['fit', '--help']
    return shlex.join(['sysid', *words])
