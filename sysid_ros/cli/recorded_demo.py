"""The fit of a recording from beginning to end, without ROS 2.

With real measurements at hand (the environment variable SYSID_DATA, or ../shared/data beside
the project) it fits those of a KUKA LWR4+; otherwise it simulates an arm whose true
parameters differ from its description, records a bag, and fits that.
"""

from __future__ import annotations

import os
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.fit import report
from sysid_ros.cli.shown import Shown
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.fit import fit_to_folder

_KUKA_SETTINGS = """\
# KUKA LWR4+, run {run} of one trajectory, low-pass filtered by its recorder.
robot:
  urdf: kuka_lwr4.urdf
  terms:
    stiffness: all            # a spring-like torque, perhaps of hoses
recording:
  format: npz
  file: measurements_{run}.npz
  joints: [lwr_0_joint, lwr_1_joint, lwr_2_joint, lwr_3_joint, lwr_4_joint, lwr_5_joint,
           lwr_6_joint]
  time: {{array: times}}
  position: {{array: positions}}
  velocity: {{array: velocities}}
  acceleration: {{array: accelerations}}
  effort: {{array: torques}}
processing:
  stamps: uniform             # stamped on arrival: positions are even per sample, not per stamp
  differentiation: measured   # velocities and accelerations were recorded too
  parallel_filter: {{cutoff: 10.0, order: 4, decimate_to: 25.0}}
"""


def fit_recorded(output: Path, source: str, shown: Shown = Shown.BRIEF) -> ExitCode:
    """Fit recordings.

    Args:
        output: Folder to write.
        source: ``measured`` for the real measurements, ``simulated`` for those of a simulated
            arm, ``auto`` for the first if they are at hand.
        shown: How much is printed.

    Raises:
        ConfigurationError: The recordings are not there, or cannot be made.
    """
    output.mkdir(parents=True, exist_ok=True)
    recordings = None if source == 'simulated' else _measurements()
    if recordings is not None:
        shown.say(f'Fitting real measurements of a KUKA LWR4+ in {recordings}.\n')
        return _fit_kuka(recordings, output, shown)
    if source == 'measured':
        raise ConfigurationError(
            'there are no real measurements', where='--recorded measured',
            fix='Set SYSID_DATA to the folder that has kuka_lwr4/ in it')
    shown.say('Simulating an arm with MuJoCo and fitting its bag.\n')
    return _fit_simulated(output, shown)


def _measurements() -> Path | None:
    """Folder of the KUKA's measurements, if there is one."""
    named = os.environ.get('SYSID_DATA')
    candidates = [Path(named)] if named else [
        Path.cwd() / '../shared/data', Path(__file__).parents[2] / '../shared/data',
    ]
    folders = [(folder / 'kuka_lwr4').resolve() for folder in candidates]
    return next((folder for folder in folders if folder.is_dir()), None)


def _fit_kuka(recordings: Path, output: Path, shown: Shown) -> ExitCode:
    runs = []
    for number in (1, 2):
        settings = output / f'kuka_run{number}.yaml'
        settings.write_text(_KUKA_SETTINGS.format(run=number), encoding='utf-8')
        runs.append(Identification.load(settings, recordings))
    return report(fit_to_folder(
        runs[0], output / 'run', estimator='entropic', validation=runs[1],
        command=command_line(), stage=shown.stage), shown)


def _fit_simulated(output: Path, shown: Shown) -> ExitCode:
    try:
        from sysid_ros.demo.simulated_recording import simulate_demo
    except ImportError as error:
        raise ConfigurationError(
            f'the simulation cannot start: {error}', fix="Install it: pip install 'sysid-ros[demo]'"
        ) from error
    with shown.stage('Simulating two motions of an arm'):
        training, validation = simulate_demo(output)
    return report(fit_to_folder(
        Identification.load(training), output / 'run', estimator='entropic',
        validation=Identification.load(validation), command=command_line(), stage=shown.stage,
    ), shown)
