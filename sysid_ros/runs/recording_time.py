"""When recordings of runs were made, where they say it: bags do, tables do not."""

from __future__ import annotations

from pathlib import Path

from rosbags.rosbag2 import ReaderError

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.identification import Identification
from sysid_ros.recording.bag.rosbag2_storage import open_bag
from sysid_ros.runs.run_files import read_provenance


def run_recorded(folder: Path) -> float:
    """When the recording of a run ended in [s] since 1970; 0 where that is not known.

    Args:
        folder: Folder of the run.

    Raises:
        ConfigurationError: Its files cannot be read.
    """
    stamp = read_provenance(folder).get('recording_end')
    return 1e-9 * (stamp or recording_end(Identification.load(folder / 'settings.yaml')))


def recording_end(identification: Identification) -> int:
    """Time of a recording's last message in [ns] since 1970; 0 where it is no bag, or damaged.

    Args:
        identification: Settings of the recording.
    """
    settings = identification.settings
    if settings.recording.format != 'rosbag':
        return 0
    try:
        with open_bag(identification.folder / str(settings.recording.file)) as bag:
            return int(bag.end_time) - 1
    except (ReaderError, RecordingError):
        return 0
