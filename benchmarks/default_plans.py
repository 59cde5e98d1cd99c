"""Motions planned with nothing said but the robot: every URDF of example-robot-data.

A robot counts when the search for a motion can begin: limits are there, and a pose in which the
robot is clear of itself is the middle of its ranges, or found. Once its meshes are found, by
ROS_PACKAGE_PATH, and once they are not. What is refused is listed with the reason.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from sysid_ros.errors import SysidError
from sysid_ros.excitation.configuration import ExcitationPlan

BAR = 50


def urdfs() -> list[Path]:
    """URDFs of the package; none where it is not installed."""
    try:
        found = files('example-robot-data') or ()
    except PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in found if file.suffix == '.urdf')


def plan(path: Path, folder: Path) -> str:
    """Why no motion can be planned; empty where one can."""
    settings = folder / 'excitation.yaml'
    settings.write_text(f'robot: {{urdf: {path}}}\n', encoding='utf-8')
    try:
        ExcitationPlan.load(settings).designer()
    except SysidError as error:
        return str(error)
    return ''


def main() -> None:
    """Sweep, and print the figures."""
    robots, figures = urdfs(), []
    if not robots:
        print('default_plans: the package example-robot-data is not installed; nothing was tried',
              file=sys.stderr)
        print(json.dumps([]))
        return
    share = str(robots[0]).split('/example-robot-data/')[0]
    for meshes, package_path in (('their meshes', share), ('capsules for meshes', '')):
        os.environ['ROS_PACKAGE_PATH'] = package_path
        planned, longest = 0, 0.0
        with tempfile.TemporaryDirectory() as folder:
            for path in robots:
                start = time.perf_counter()
                reason = plan(path, Path(folder))
                longest = max(longest, time.perf_counter() - start)
                planned += not reason
                if reason:
                    print(f'{path.name}, {meshes}: {reason}', flush=True)
        figures.append({
            'name': f'of {len(robots)} URDFs, with {meshes}: can be planned for', 'value': planned,
            'unit': '', 'reference': f'the longest took {longest:.1f} s', 'bar': f'>= {BAR}',
            'ok': planned >= BAR})
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
