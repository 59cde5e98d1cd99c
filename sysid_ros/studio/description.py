"""Whether a robot description is right, and what torques can tell of the robot, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.identification import Identification
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.json_values import finite_or_null
from sysid_ros.robot.description.checks.preflight import Finding, Severity, check_description
from sysid_ros.robot.description.urdf import load_description
from sysid_ros.robot.inertia import INERTIAL_FIELDS, central_inertia
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.stages import Stage
from sysid_ros.studio.robot_scene import robot_scene

# The most serious first.
_ORDER = tuple(Severity)


def describe(source: Path, meshes: Path, stage: Stage) -> dict[str, Any]:
    """Check a description and count what torques can tell.

    Args:
        source: URDF, xacro or MJCF file, or a settings file that names one.
        meshes: Folder for the hulls of its meshes.
        stage: Entered for each step.

    Returns:
        Plain values: ``findings``, and where nothing fatal was found ``robot`` and all that is
        known of it.

    Raises:
        SysidError: It cannot be read at all.
    """
    with stage('Checking the description'):
        settings = source.suffix.lower() in ('.yaml', '.yml')
        identification = Identification.load(source) if settings else None
        if identification is None:
            description = load_description(source)
            findings = check_description(description)
            if any(finding.severity is Severity.FATAL for finding in findings):
                return {'findings': _findings(findings), 'loadable': False}
            model = None
            robot = RobotModel.from_description(description)
        else:
            model = identification.model()
            robot = model.robot
            findings = robot.findings
    with stage('Drawing the robot'):
        scene = robot_scene(robot, meshes)
    found = {
        'findings': _findings(findings), 'loadable': True, 'robot': robot.name,
        'format': robot.description.format, 'joints': _joints(robot), 'bodies': _bodies(robot),
        'mass': _number(float(robot.inertial_prior[:, 0].sum())), 'scene': scene,
        'loops': [] if robot.loops is None else [one.name for one in robot.loops.closures],
        'floating': robot.free_joint, 'base': None}
    if not robot.free_joint:
        with stage('Counting what torques can tell'):
            found['base'] = _base(robot, model)
    return found


def _number(value: float) -> float | None:
    return finite_or_null([value])[0]


def _findings(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [
        {'severity': finding.severity.name, 'means': finding.severity.value, 'code': finding.code,
         'element': finding.element, 'message': finding.message}
        for finding in sorted(findings, key=lambda each: _ORDER.index(each.severity))]


def _joints(robot: RobotModel) -> list[dict[str, Any]]:
    """Moving joints with their limits, and those that are held."""
    limits = robot.limits
    moving = [
        {'name': name, 'kind': kind, **{
            key: _number(float(getattr(limits, key)[k]))
            for key in ('lower', 'upper', 'velocity', 'effort')}}
        for k, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_types, strict=True))]
    passive = [{'name': name, 'kind': 'passive'} for name in robot.passive_joints]
    held = [{'name': name, 'kind': 'held', 'lower': at, 'upper': at}
            for name, at in robot.locked_joints.items()]
    return [*moving, *passive, *held]


def _bodies(robot: RobotModel) -> list[dict[str, Any]]:
    """Moving bodies with mass, centre of mass and principal moments of inertia."""
    rows = []
    for body, phi in zip(robot.body_names, robot.inertial_prior, strict=True):
        row: dict[str, Any] = {
            'name': body, 'mass': _number(float(phi[0])),
            'links': [link.name for link in robot.links if link.body == body],
            'replaced': robot.replaced_priors.get(body, ''), 'centre': None, 'moments': None}
        if phi[0] > 0.0:
            _, centre, inertia = central_inertia(phi)
            row['centre'] = centre.tolist()
            row['moments'] = np.linalg.eigvalsh(inertia).tolist()
        rows.append(row)
    return rows


def _base(robot: RobotModel, model: TorqueModel | None) -> dict[str, Any]:
    """How many combinations of parameters torques determine, and which."""
    inertial = base_parameters(TorqueModel(robot))
    if model is None:
        terms = TermSettings().described(robot)
        model = TorqueModel(robot, terms.build(robot))
    try:
        everything = base_parameters(model)
    except SysidError as error:
        return {'inertial': inertial.rank, 'standard': len(inertial.names), 'all': None,
                'equations': list(inertial.equations), 'note': str(error)}
    return {
        'inertial': inertial.rank, 'standard': len(inertial.names), 'all': everything.rank,
        'terms': sorted({name.rpartition('.')[2] for name in everything.names}
                        - set(INERTIAL_FIELDS)),
        'equations': list(everything.equations), 'note': ''}
