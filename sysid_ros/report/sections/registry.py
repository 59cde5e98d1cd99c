"""The sections of a report, in their order on the page; a new one is a line here."""

from __future__ import annotations

from typing import Annotated, Union, get_args

from pydantic import Field

from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.base_parameters import BaseParametersSection
from sysid_ros.report.sections.choices import ChoicesSection
from sysid_ros.report.sections.correlations import CorrelationsSection
from sysid_ros.report.sections.data_quality import DataQualitySection
from sysid_ros.report.sections.joint_errors import JointErrorsSection
from sysid_ros.report.sections.open_questions import OpenQuestionsSection
from sysid_ros.report.sections.parameters import ParametersSection
from sysid_ros.report.sections.prior_strength import PriorStrengthSection
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.report.sections.remarks import RemarksSection
from sysid_ros.report.sections.residuals import ResidualsSection
from sysid_ros.report.sections.robot_view import RobotViewSection
from sysid_ros.report.sections.section import Section
from sysid_ros.report.sections.simulation import SimulationSection
from sysid_ros.report.sections.torques import TorquesSection
from sysid_ros.report.sections.validity import ValiditySection
from sysid_ros.report.sections.verdict import VerdictSection

#: A section, told by its field ``section``. A union that Pydantic and mypy can both read.
AnySection = Annotated[
    Union[  # noqa: UP007
        VerdictSection,
        DataQualitySection,
        JointErrorsSection,
        TorquesSection,
        ResidualsSection,
        ParametersSection,
        BaseParametersSection,
        CorrelationsSection,
        PriorStrengthSection,
        RobotViewSection,
        SimulationSection,
        ValiditySection,
        OpenQuestionsSection,
        ChoicesSection,
        RemarksSection,
        ProvenanceSection,
    ],
    Field(discriminator='section'),
]

#: Their classes, in order.
SECTIONS: tuple[type[Section], ...] = get_args(get_args(AnySection)[0])


def sections_of(source: ReportSource) -> list[Section]:
    """The sections that a run has something for, in order.

    Args:
        source: The run.
    """
    made = (section.of(source) for section in SECTIONS)
    return [section for section in made if section is not None]
