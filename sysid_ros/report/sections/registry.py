"""The sections of reports, in their order on the page; a new one is a line here."""

from __future__ import annotations

from typing import Annotated, Union, get_args

import numpy as np
from pydantic import Field

from sysid_ros.errors import SysidError
from sysid_ros.estimation.payload.found_load import FoundLoad
from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.report_source import Origin, ReportSource
from sysid_ros.report.robot_motion import MotionPoses
from sysid_ros.report.sections.base_parameters import BaseParametersSection
from sysid_ros.report.sections.choices import ChoicesSection
from sysid_ros.report.sections.clearances import ClearancesSection
from sysid_ros.report.sections.compared_runs import ComparedRunsSection
from sysid_ros.report.sections.correlations import CorrelationsSection
from sysid_ros.report.sections.data_quality import DataQualitySection
from sysid_ros.report.sections.demonstration import DemonstrationSection
from sysid_ros.report.sections.drives import DrivesSection
from sysid_ros.report.sections.expected_knowledge import ExpectedKnowledgeSection
from sysid_ros.report.sections.followed_robot import FollowedRobotSection
from sysid_ros.report.sections.iterations import IterationsSection
from sysid_ros.report.sections.joint_errors import JointErrorsSection
from sysid_ros.report.sections.load import LoadSection
from sysid_ros.report.sections.motion_limits import MotionLimitsSection
from sysid_ros.report.sections.open_questions import OpenQuestionsSection
from sysid_ros.report.sections.parameters import ParametersSection
from sysid_ros.report.sections.planned_motion import PlannedMotionSection
from sysid_ros.report.sections.prior_strength import PriorStrengthSection
from sysid_ros.report.sections.provenance import FittedRecording, ProvenanceSection
from sysid_ros.report.sections.remarks import RemarksSection
from sysid_ros.report.sections.residuals import ResidualsSection
from sysid_ros.report.sections.robot_view import BodyView, RobotViewSection, StandingBox
from sysid_ros.report.sections.section import Section
from sysid_ros.report.sections.simulation import SimulationSection
from sysid_ros.report.sections.torques import TorqueRows, TorquesSection
from sysid_ros.report.sections.validity import ValiditySection
from sysid_ros.report.sections.verdict import VerdictSection
from sysid_ros.report.sections.weights import WeightsSection
from sysid_ros.robot.parameters import ParameterSet

_RunSection = Union[  # noqa: UP007
    VerdictSection,
    DataQualitySection,
    JointErrorsSection,
    TorquesSection,
    DrivesSection,
    ResidualsSection,
    ParametersSection,
    BaseParametersSection,
    CorrelationsSection,
    PriorStrengthSection,
    WeightsSection,
    IterationsSection,
    RobotViewSection,
    SimulationSection,
    ValiditySection,
    OpenQuestionsSection,
    ChoicesSection,
    RemarksSection,
    ProvenanceSection,
]
_OtherSection = Union[  # noqa: UP007
    PlannedMotionSection,
    MotionLimitsSection,
    ExpectedKnowledgeSection,
    ClearancesSection,
    LoadSection,
    DemonstrationSection,
    ComparedRunsSection,
    FollowedRobotSection,
]
#: A section, told by its field ``section``. Unions that Pydantic and mypy can both read.
AnySection = Annotated[
    Union[_RunSection, _OtherSection], Field(discriminator='section')]  # noqa: UP007

#: Classes of the sections of a run, in order, and of all sections.
RUN_SECTIONS: tuple[type[Section], ...] = get_args(_RunSection)
SECTIONS: tuple[type[Section], ...] = get_args(get_args(AnySection)[0])


def sections_of(source: ReportSource) -> list[Section]:
    """The sections that a run has something for, in order.

    Args:
        source: The run.
    """
    made = (section.of(source) for section in RUN_SECTIONS)
    return [section for section in made if section is not None]


def motion_sections(source: PlannedMotion, origin: Origin) -> list[Section]:
    """The sections of a planned motion, in order.

    Args:
        source: The motion.
        origin: Where it came from.
    """
    model, motion = source.designer.model, source.motion
    poses = MotionPoses.of(model.robot, motion.t, motion.q)
    described = RobotViewSection.of_bodies(
        poses, _described(poses, model.parameters), before_name='as described', boxes=[
            StandingBox(name=box.name, lower=list(box.lower), upper=list(box.upper))
            for box in source.boxes()])
    made = (
        PlannedMotionSection.of_motion(source), described, MotionLimitsSection.of_motion(source),
        ExpectedKnowledgeSection.of_motion(source), ClearancesSection.of_motion(source),
        ProvenanceSection.of_origin(origin))
    return [section for section in made if section is not None]


def load_sections(found: FoundLoad, origin: Origin) -> list[Section]:
    """The sections of a load, in order.

    Args:
        found: The load.
        origin: Where it came from.
    """
    rows, with_load = found.rows, found.with_load
    sigma = np.sqrt(np.sum(rows.residuals(with_load) ** 2, axis=0) / np.maximum(rows.counts, 1))
    made = (
        LoadSection.of_load(found), _loaded_robot(found),
        TorquesSection(
            groups=[TorqueRows.of('loaded', rows, with_load, found.without_load, sigma)],
            identified_name='with the load', prior_name='without it'),
        ProvenanceSection.of_origin(origin, [FittedRecording.of('loaded', rows)]))
    return [section for section in made if section is not None]


def _loaded_robot(found: FoundLoad) -> RobotViewSection | None:
    """The robot with its load; None where its motion is not in memory or it cannot be placed."""
    if found.rows.motion is None:
        return None
    robot, data = found.rows.model.robot, found.rows.motion.dataset
    try:
        poses = MotionPoses.of(robot, data.t, data.q, data.segments)
    except SysidError:
        return None
    carrier = robot.body_names.index(found.in_body.body)
    load = BodyView(
        body=f'load on {found.link}', tree_index=int(poses.bodies[carrier]), before=None,
        after=poses.solid(carrier, found.in_body.inertial))
    return RobotViewSection.of_bodies(
        poses, [*_described(poses, found.rows.parameters), load],
        before_name='robot, as described', after_name='load')


def _described(poses: MotionPoses, parameters: ParameterSet) -> list[BodyView]:
    """Bodies with the ellipsoids of their description."""
    return [
        BodyView(
            body=body, tree_index=int(poses.bodies[k]), after=None,
            before=poses.solid(k, parameters.prior[parameters.body_slice(body)]))
        for k, body in enumerate(poses.robot.body_names) if body in parameters.bodies]
