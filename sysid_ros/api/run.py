"""A finished fit: its parameters, its verdict and its page, from the folder that it left."""

from __future__ import annotations

import html
import importlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sysid_ros.api.recording import Recording
from sysid_ros.api.settings import Settings, identification
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.numerics.threads import one_blas_thread
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.export import export_run
from sysid_ros.runs.run_files import read_verdict
from sysid_ros.runs.run_folder import BRIEF, RECORDINGS, RunFolder
from sysid_ros.runs.validation import Validation, validate_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ParameterEstimate:
    """One parameter of a fit.

    Attributes:
        name: ``<link>.<field>`` or ``<joint>.<field>``.
        value: The estimate, in ``unit``.
        interval: 95 % interval; None where the data does not tell the parameter alone. With
            several recordings it includes errors of the model, by how much they disagree.
        prior: Value before the fit.
        unit: SI unit.
        knowledge: Where the value comes from.
    """

    name: str
    value: float
    interval: tuple[float, float] | None
    prior: float
    unit: str
    knowledge: Knowledge

    def __str__(self) -> str:
        half = '' if self.interval is None else f' ± {self.interval[1] - self.value:.2g}'
        return f'{self.name} = {self.value:.4g}{half} {self.unit} ({self.knowledge.value})'


@dataclass(frozen=True, eq=False)
class Run:
    """A finished fit, which prints as its brief summary; :meth:`open` finds one in a folder.

    Attributes:
        folder: Folder with all that the fit left, the same that ``sysid fit`` leaves. One that
            was not named is temporary, and is removed with the last reference to the run; figures
            are drawn by :meth:`plot` then, and on the page of :meth:`report`.
        note: Why there is no page, in words; empty where there is one.
    """

    folder: Path
    note: str = ''

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """The fit that a folder holds.

        Raises:
            ConfigurationError: There is none.
        """
        # A program may change its current folder.
        return cls(RunFolder.open(Path(folder).absolute()).path)

    def __str__(self) -> str:
        brief = self.folder / BRIEF
        # Runs of older versions have the summary alone.
        return brief.read_text(encoding='utf-8') if brief.is_file() else self.summary

    def _repr_html_(self) -> str:
        """The brief summary and, folded, all parameters, for notebooks."""
        rows = ''.join(
            f'<tr><td>{html.escape(one.name)}</td><td>{one.value:.6g}</td><td>'
            + ('' if one.interval is None else f'{one.interval[0]:.6g} … {one.interval[1]:.6g}')
            + f'</td><td>{one.prior:.6g}</td><td>{html.escape(one.unit)}</td>'
            f'<td>{html.escape(one.knowledge.value)}</td></tr>'
            for one in self.parameters.values())
        heads = ''.join(f'<th>{word}</th>' for word in (
            'parameter', 'value', '95 % interval', 'prior', 'unit', 'where from'))
        return (
            f'<pre>{html.escape(str(self))}</pre><details><summary>Parameters</summary>'
            f'<table><tr>{heads}</tr>{rows}</table></details>')

    @cached_property
    def estimate(self) -> Estimate:
        """Parameters, covariance, and what the data told."""
        return self._run.estimate()

    @cached_property
    def verdict(self) -> Verdict:
        """Whether to believe it, with reasons and next steps."""
        data = read_verdict(self.folder)
        texts = (tuple(map(str, data.get(key, ()))) for key in ('reasons', 'next_steps', 'remarks'))
        return Verdict(data.get('committable') is True, *texts)

    @cached_property
    def robot(self) -> RobotModel:
        """The robot as it was described before the fit."""
        return self._run.setup().model.robot

    @property
    def settings(self) -> Settings:
        """What was fitted and how, with all that the data decided; of recordings the first."""
        return Settings.load(self.folder / 'settings.yaml')

    @property
    def summary(self) -> str:
        """All that was found out, for people."""
        return (self.folder / 'summary.txt').read_text(encoding='utf-8')

    @cached_property
    def parameters(self) -> Mapping[str, ParameterEstimate]:
        """Every parameter by name."""
        estimate = self.estimate
        intervals = estimate.intervals()
        half = intervals.get('between_recordings', intervals['noise'])
        found = estimate.parameters
        return MappingProxyType({
            name: ParameterEstimate(
                name, value, (value - half[name], value + half[name]) if name in half else None,
                prior, unit, knowledge)
            for name, value, prior, unit, knowledge in zip(
                found.names, found.values.tolist(), found.prior.tolist(), found.units,
                estimate.knowledge, strict=True)})

    def to_dataframe(self) -> Any:
        """The parameters as a data frame of pandas, by name.

        Returns:
            Columns ``value``, ``lower`` and ``upper`` (of the 95 % interval, NaN where there is
            none), ``prior``, ``unit`` and ``knowledge``.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        try:
            # Nothing else needs it.
            pandas = importlib.import_module('pandas')
        except ImportError as error:
            raise ConfigurationError(
                'a data frame needs pandas, which is not installed',
                fix='pip install pandas, or take run.parameters') from error
        unknown = (float('nan'), float('nan'))
        bounds = [one.interval or unknown for one in self.parameters.values()]
        ones = list(self.parameters.values())
        return pandas.DataFrame({
            'value': [one.value for one in ones], 'lower': [lower for lower, _ in bounds],
            'upper': [upper for _, upper in bounds], 'prior': [one.prior for one in ones],
            'unit': [one.unit for one in ones],
            'knowledge': [one.knowledge.value for one in ones],
        }, index=list(self.parameters))

    def plot(self, *, training: bool = False) -> Figure:
        """Measured and predicted torques and their differences, joint by joint.

        The recordings are read again, where the run finds them.

        Args:
            training: Show the rows that were fitted, and not those that were judged by.

        Raises:
            ReleaseError: A recording is gone or has changed.
        """
        from sysid_ros.evaluation.commanded_torque import with_commanded_torques
        from sysid_ros.report.figures import torque_strips
        from sysid_ros.report.joint_axes import drawn  # Matplotlib
        from sysid_ros.runs.judgement import reopened_study

        study = with_commanded_torques(reopened_study(self.folder), self.estimate)
        by_motion = study.loop is not None
        if training or study.held_out is None:
            return drawn(torque_strips(
                study.training, self.estimate, title='torques of the training data',
                by_motion=by_motion))
        return drawn(torque_strips(
            study.held_out.problem, self.estimate, title='torques of data the fit has not seen',
            by_motion=by_motion))

    def report(self, path: str | Path | None = None) -> Path:
        """The page of the fit, for a browser without a network.

        Args:
            path: File to write; by default ``report.html`` in the folder of the run.

        Returns:
            The file.

        Raises:
            ConfigurationError: The page cannot be drawn.
            SysidError: The run has no ``report.json``, or the page cannot be written.
        """
        from sysid_ros.report.report import Report
        from sysid_ros.runs.report_files import DOCUMENT, PAGE, write_page

        page = self.folder / PAGE if path is None else Path(path)
        if path is not None or not page.is_file():
            document = self.folder / DOCUMENT
            note = write_page(page, Report.load(document), read_from=document)
            if note:
                raise ConfigurationError(note.rstrip('.'), where=str(page))
        return page

    def export(
        self, path: str | Path | None = None, *, yaml: str | Path | None = None,
        isaac_lab: str | Path | None = None, mjcf: str | Path | None = None,
        ros2_control: str | Path | None = None, sdf: str | Path | None = None,
        usd: str | Path | None = None,
    ) -> tuple[str, ...]:
        """Write the parameters in the format of the description, or as YAML.

        Args:
            path: URDF to write, or MJCF where one was identified: nothing but inertias and joint
                dynamics differ, and reloaded it gives the same torques.
            yaml: YAML to write, with what a description cannot hold.
            isaac_lab: YAML to write for Isaac Lab: gains, armature, friction and limits of joints.
            mjcf: MJCF to write: inertias, joints, their friction and armature, actuators; the
                described one where an MJCF was identified.
            ros2_control: YAML to write for ros2_control: limits and gains of joints.
            sdf: SDF to write for Gazebo: inertias, joints, their friction and limits.
            usd: USD physics to write: inertias, joints, their friction, limits and drives.

        Returns:
            Notes on what the description cannot hold.

        Raises:
            ConfigurationError: No file is named.
            ReleaseError: The fit did not converge, or a file cannot be written.
        """
        drives = {
            'isaac_lab': isaac_lab, 'mjcf': mjcf, 'ros2_control': ros2_control, 'sdf': sdf,
            'usd': usd}
        return export_run(
            self._run, None if path is None else Path(path), None if yaml is None else Path(yaml),
            {name: Path(file) for name, file in drives.items() if file is not None})

    @one_blas_thread()
    def validate(self, recording: Recording, *, name: str | None = None) -> Validation:
        """Predict another recording of the robot, and judge the fit by it.

        Args:
            recording: The recording; it is processed as the fitted one.
            name: Goes into the names of the files that are written beside the run; by default
                that of the recording's file, and ``other`` for arrays.

        Raises:
            ConfigurationError: The name cannot be that of a file.
            SysidError: The recording cannot be used.
        """
        if name is None:
            name = 'other' if recording.arrays else Path(recording.section['file']).stem
        if not name or Path(name).name != name:
            raise ConfigurationError(
                'is no name of a file', where='validate(…, name=…)', found=repr(name),
                fix='Use letters, digits and underscores')
        recording = self.guessed(recording)
        joints = self.robot.limb_joints if recording.needs_joints else ()
        # The name differs from those of recordings that were fitted: the run has their only copy.
        file = self.folder / RECORDINGS / f'validated_{name}.npz'
        other = identification(recording, file, {}, joints)
        recording.write(file)
        return validate_run(self._run, other, name)

    def guessed(self, recording: Recording) -> Recording:
        """Another recording of the robot, with what is left to a guess.

        Args:
            recording: The recording.

        Raises:
            SysidError: See :meth:`Recording.guessed`.
        """
        known = self._run.setup().identification
        robot = known.robot().model_dump(mode='json', exclude_unset=True)
        return recording.guessed(robot, known.base)

    def save(self, folder: str | Path) -> Run:
        """Copy the run, with the arrays that were fitted.

        Args:
            folder: New folder, or that of a run, which is replaced.

        Returns:
            The run in that folder.

        Raises:
            ConfigurationError: The folder is that of this run, holds something else, or cannot be
                written.
        """
        target = Path(folder)
        if target.resolve() == self.folder.resolve():
            raise ConfigurationError(
                'the run is there already', where=str(folder), fix='Name another folder')
        with RunFolder.written(target) as run:
            try:
                shutil.copytree(self.folder, run.path, dirs_exist_ok=True)
            except OSError as error:
                raise ConfigurationError(
                    f'cannot be written: {error}', where=str(folder),
                    fix='Name a folder that can be written to') from error
        return Run.open(target)

    @property
    def _run(self) -> RunFolder:
        return RunFolder.open(self.folder)
