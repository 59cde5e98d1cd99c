"""Play a run's or a planned motion in 3-D: in a browser, or as a film.

The page of the report is opened at its player, which needs no network. With --gif or --mp4 the
same is rendered off screen; MP4 needs ffmpeg.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.progress import stage
from sysid_ros.errors import ConfigurationError
from sysid_ros.report.report import Report
from sysid_ros.report.sections.robot_view import RobotViewSection
from sysid_ros.runs.report_files import report_document, report_page, write_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid view``."""
    parser.add_argument(
        'source', type=Path, metavar='RUN_OR_MOTION',
        help="folder of 'sysid fit' or 'sysid excite', or one of several motions in it "
             '(excitation_2.yaml), or a report.json')
    parser.add_argument('--gif', type=Path, metavar='FILE', help='write a film as GIF')
    parser.add_argument('--mp4', type=Path, metavar='FILE', help='write a film as MP4')


def run(options: argparse.Namespace) -> ExitCode:
    """Find the report, and render or open it."""
    document = report_document(options.source)
    report = Report.load(document)
    films = [_film(path, suffix) for path, suffix in (
        (options.gif, '.gif'), (options.mp4, '.mp4')) if path is not None]
    if films:
        _render(films, report, document)
        return ExitCode.OK
    page = report_page(document)
    if not page.is_file() and (note := write_page(page, report)):
        print(f'sysid view: {note}', file=sys.stderr)
        return ExitCode.BAD_INPUT
    address = f'{page.resolve().as_uri()}#{RobotViewSection.model_fields["section"].default}'
    if webbrowser.open(address):
        print(f'Opened {page}')
    else:
        print(f'There is no browser to open; look at {address}')
    return ExitCode.OK


def _film(path: Path, suffix: str) -> Path:
    if path.suffix.lower() != suffix:
        raise ConfigurationError(
            'the name of the file says another format', where=f'--{suffix[1:]}', found=path.name,
            allowed=f'a name that ends with {suffix}', fix=f'--{suffix[1:]} {path.stem}{suffix}')
    return path


def _render(films: list[Path], report: Report, document: Path) -> None:
    from sysid_ros.report.motion_film import write_film  # Matplotlib

    views = [each for each in report.sections if isinstance(each, RobotViewSection)]
    players = [player for view in views for player in view.players().values()]
    if not players:
        raise ConfigurationError(
            'holds no motion to play', where=str(document),
            fix="Write it anew: 'sysid report RUN --recordings', or design the motion again")
    for path in films:
        with stage(f'Rendering {path.name}'):
            write_film(path, players[0], title=f'{report.subject} {report.robot}: {report.name}')
        print(f'Written to {path}')
