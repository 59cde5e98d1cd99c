"""Plan motions: what ``sysid excite`` does as a function."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_ros.api.settings import Robot, robot_section
from sysid_ros.excitation.configuration import ExcitationPlan, ExcitationSettings
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import excitation_yaml
from sysid_ros.excitation.playback.checks import PlaybackTolerances
from sysid_ros.excitation.playback.preparation import require_stoppable_loops
from sysid_ros.release.atomic import write_atomically
from sysid_ros.settings import parse_settings


def excite(
    robot: Robot,
    *,
    file: str | Path | None = None,
    terms: Mapping[str, Any] | None = None,
    motion: Mapping[str, Any] | None = None,
    limits: Mapping[str, Mapping[str, float]] | None = None,
    rest: Mapping[str, float] | None = None,
    clearance: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> Excitation:
    """Design a motion that shows the dynamics of a robot, within its limits and clear of itself.

    Args:
        robot: URDF, xacro or MJCF file; the ``robot:`` section of a settings file; or a model.
        file: YAML file to write, from which the motion is played and read again.
        terms: Section ``robot: terms:`` of a settings file.
        motion: Section ``motion:``, of the family and its duration.
        limits: Section ``limits:``, by joint: what the description lacks, or has too wide.
        rest: Section ``rest:``, a pose that is clear.
        clearance: Section ``clearance:``, of what is in the way.
        design: Section ``design:``, of the search.

    Returns:
        The motion, verified; ``motion.grid(100.0)`` samples it.

    Raises:
        ConfigurationError: A key or a value is not right, or a limit is missing.
        ExcitationError: No motion is allowed within the limits.
        ModelError: The description cannot be used.
    """
    given = {
        'motion': motion, 'limits': limits, 'rest': rest, 'clearance': clearance, 'design': design}
    with tempfile.TemporaryDirectory(prefix='sysid_robot_') as beside:
        section = robot_section(robot, Path(beside))
        if terms is not None:
            section['terms'] = dict(terms)
        sections = {key: value for key, value in given.items() if value is not None}
        settings = parse_settings(ExcitationSettings, sections | {'robot': section}, 'excite(…)')
        designer = ExcitationPlan(settings, Path.cwd()).designer()
        excitation = designer.design()
        dense = designer.dense(excitation)
        designer.verify(dense).require()
        require_stoppable_loops(designer, 'excite(…)', dense, PlaybackTolerances().reaction_time)
    if file is not None:
        write_atomically(file, excitation_yaml(excitation).encode())
    return excitation
