"""Design motions that show the dynamics of a robot, within its limits.

The settings file names the robot, the family of motions, limits and what is in the way. What
recordings or other motions tell already can be taken into account, so that the next motion
shows what they do not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_ros.cli.command_line import command_line
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.shown import Shown, add_shown_arguments, show, shown_by
from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.design.information import CRITERIA
from sysid_ros.excitation.files import load_excitation, load_motion_csv
from sysid_ros.excitation.playback.preparation import stopping_time
from sysid_ros.excitation.safety.verification import resampled
from sysid_ros.report.excitation_summary import limits_table
from sysid_ros.runs.excitation_request import ExcitationRequest, require_stoppable

_CHOICES = ('criterion', 'seed', 'starts')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid excite``."""
    parser.add_argument('settings', type=Path, help='settings file (YAML)')
    parser.add_argument('--criterion', choices=tuple(CRITERIA), help='what is optimised')
    parser.add_argument('--seed', type=int, help='of the random beginnings')
    parser.add_argument('--starts', type=int, help='most random beginnings')
    parser.add_argument(
        '--count', type=int, default=1, metavar='N', help='motions that are good together'
    )
    parser.add_argument(
        '--speed', type=float, default=1.0, metavar='SCALE',
        help='play so many times as fast as designed; below 1 is gentler',
    )
    parser.add_argument(
        '--after', type=Path, action='append', default=[], metavar='PATH',
        help="what is known already: folder of 'sysid fit', or a motion of this command; may be "
        'repeated',
    )
    parser.add_argument(
        '--check', type=Path, metavar='FILE',
        help='design nothing, but verify a motion: YAML of this command, or CSV of any planner',
    )
    parser.add_argument(
        '--rate', type=float, default=100.0, metavar='HZ', help='samples in the tables'
    )
    parser.add_argument(
        '-o', '--output', type=Path, metavar='FOLDER',
        help='folder to write; by default excitations/<name of the settings file>',
    )
    add_shown_arguments(parser, 'what was designed, or found', verbose=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Design, verify, write and print; or only verify."""
    for name, most in (('count', 100), ('rate', 1e4), ('speed', 1.0)):
        if not 0 < getattr(options, name) <= most:
            raise ConfigurationError(
                'cannot be used', where=f'--{name}', found=getattr(options, name),
                allowed=f'above 0, at most {most:g}', fix=f'Say a number, as --{name} 1',
            )
    shown = shown_by(options)
    request = ExcitationRequest(
        options.settings,
        {name: value for name in _CHOICES if (value := getattr(options, name)) is not None},
        options.count, options.speed, tuple(options.after), options.rate, options.output)
    if options.check is not None:
        return _check(request.plan().designer(), options.check, shown)
    motions = []
    for motion in request.run(
            command=command_line(), stage=shown.stage, say=shown.say,
            shows_progress=shown is not Shown.NOTHING):
        shown.say(motion.text)
        motions.append(motion.to_json())
    show(shown, brief=f'Written to {request.folder}', document={
        'folder': str(request.folder), 'motions': motions})
    return ExitCode.OK


def _check(designer: Designer, path: Path, shown: Shown) -> ExitCode:
    """Verify a motion and say everything that was found."""
    names = designer.limits.joint_names
    if path.suffix in ('.yaml', '.yml'):
        excitation = load_excitation(path)
        _require_joints(path, excitation.joint_names, names)
        found = designer.verify(designer.dense(excitation))
        if found.allowed:
            require_stoppable(designer, str(path), excitation)
            shown.say(f'It can be stopped within {stopping_time(designer, excitation):.2g} s.\n')
    else:
        motion = load_motion_csv(path, names)
        found = designer.verify(motion)
        if found.allowed:
            # What happens between the rows counts, too.
            found = designer.verify(resampled(motion, designer.settings.verification_rate))
    findings = [str(finding) for finding in found.findings]
    lines = [limits_table(names, found) + '\n'] if found.used else []
    lines += [*findings, f'{path} {"may" if found.allowed else "must not"} be played.']
    show(shown, brief='\n'.join(lines), document={
        'file': str(path), 'allowed': found.allowed, 'findings': findings})
    return ExitCode.OK if found.allowed else ExitCode.BAD_INPUT


def _require_joints(path: Path, found: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    if found != allowed:
        raise ConfigurationError(
            'the motion is one of another robot', where=str(path), found=', '.join(found),
            allowed=', '.join(allowed),
            fix='Name a motion that was planned with this settings file',
        )
