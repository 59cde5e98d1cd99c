"""The ``robot:`` section of a settings file: the description and its joint terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    create_model,
    field_validator,
    model_validator,
)

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.actuators.settings import ActuatorSettings, build_actuators
from sysid_ros.mechanics.joint_terms.term import (
    DescribedTerm,
    JointTerm,
    TermKeys,
    described_dynamics,
    driven_joints,
)
from sysid_ros.mechanics.joint_terms.terms import joint_terms
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.description.planar.mechanism_file import is_mechanism
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor
from sysid_ros.settings import StrictSettings, load_yaml

# What is often given in the place of a settings file, and how one names it.
_INSTEAD = {
    '.urdf': ('a robot description', 'robot: {{urdf: {0}}}'),
    '.xacro': ('a robot description', 'robot: {{urdf: {0}}}'),
    '.xml': ('a robot description', 'robot: {{description: {0}}}'),
    '.csv': ('a table', 'recording: {{format: csv, file: {0}, …}}'),
    '.npz': ('a NumPy archive', 'recording: {{format: npz, file: {0}, …}}'),
}
# Velocity in [rad/s] or [m/s] over which dry friction is smoothed where motion is simulated.
_SMOOTHING = 0.02
# What `sysid init` is told where it is a description.
_INIT = {suffix: '{0} RECORDING' for suffix in ('.urdf', '.xacro', '.xml')}


def load_settings_file(path: Path, *, of_motion: bool = False) -> dict[str, Any]:
    """Read a settings file, and call what is given in its place by its name.

    Args:
        path: The YAML file.
        of_motion: Whether it is one for planning motions, which other words write.

    Returns:
        The mapping as plain Python values.

    Raises:
        ConfigurationError: It is a robot description or a table, or no YAML mapping.
    """
    suffix = path.suffix.lower()
    kind, line = _INSTEAD.get(suffix, (None, ''))
    written_by = _INIT.get(suffix, 'ROBOT.urdf {0}')
    if of_motion:
        written_by = 'excite {0}' if suffix in _INIT else 'excite ROBOT.urdf'
    if kind is not None and path.is_file():
        raise ConfigurationError(
            'is no settings file', where=str(path), found=kind, allowed='YAML',
            fix=f'Give a settings file that names it, as {line.format(path.name)}; '
            f'sysid init {written_by.format(path.name)} writes one')
    try:
        data = load_yaml(path, missing='Give the path of a settings file')
    except ConfigurationError as error:
        usual = ('Begin with the robot, as robot: {urdf: robot.urdf}; all keys are in the '
                 'examples in config/') if path.is_file() else None
        raise ConfigurationError(
            error.problem, where=error.where, found=error.found, allowed=error.allowed,
            fix=error.fix or usual) from error
    if is_mechanism(data):
        raise ConfigurationError(
            'is no settings file', where=str(path), found='a planar mechanism',
            allowed='settings whose section robot names it',
            fix=f'Write robot: {{description: {path.name}}} in settings of their own; '
            f'sysid init {path.name} RECORDING writes them')
    return data


def names_description(data: dict[str, Any]) -> bool:
    """Whether the ``robot:`` section of settings names a description, or is none at all."""
    section = data.get('robot') or {}
    return not isinstance(section, dict) or 'urdf' in section or 'description' in section


def with_description(data: dict[str, Any], text: str) -> dict[str, Any]:
    """Settings with a description as text, where they name none and there is one.

    Args:
        data: The settings file as plain Python values.
        text: URDF or MJCF; empty where there is none.
    """
    if not text or names_description(data):
        return data
    return data | {'robot': (data.get('robot') or {}) | {'description': text}}


@cache
def _keys_of(terms: tuple[type[DescribedTerm], ...], base: Any) -> Any:
    """Settings with the keys of joint terms beside those of a base."""
    fields: dict[str, Any] = {key: value for term in terms for key, value in term.keys.items()}
    return create_model(base.__name__, __base__=base, __module__=base.__module__, **fields)


class TermSettings(_keys_of(joint_terms(), TermKeys)):  # type: ignore[misc]
    """Joint terms beside rigid-body dynamics.

    Its keys are those of the joint terms, which say what they mean; see ``keys`` of the classes in
    :mod:`~sysid_ros.mechanics.joint_terms.terms`. Where loops are closed, ``all`` stands for the
    driven joints, and for passive ones whose description gives the friction; other passive joints
    are named.
    """

    def described(self, robot: RobotModel) -> TermSettings:
        """These settings, with the drives and springs of the description where left out."""
        tree = robot.opened
        found = {
            key: tuple(
                joint for joint, value in zip(
                    tree.joint_names, described_dynamics(tree, term.described), strict=True
                ) if value > 0.0
            )
            for term in joint_terms() if term.where_described
            for key in term.keys if key not in self.model_fields_set
        }
        return self.model_copy(update=found)

    def simulated(self, driven: Sequence[str]) -> TermSettings:
        """These settings, for motion that is simulated under actuators, where left out.

        Drives have inertia, whatever the description says of it, and friction has to be smooth.

        Args:
            driven: Joints that have a drive, whether commands or torques of it are known.
        """
        found = {} if 'armature' in self.model_fields_set else {'armature': tuple(driven)}
        return self.smoothed().model_copy(update=found)

    def smoothed(self) -> TermSettings:
        """These settings, with a smoothing of dry friction where left out."""
        if 'coulomb_smoothing' in self.model_fields_set:
            return self
        return self.model_copy(update={'coulomb_smoothing': _SMOOTHING})

    @model_validator(mode='wrap')
    @classmethod
    def _with_added_terms(cls, data: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Read keys of terms, too, that were registered since this class was made."""
        added = tuple(term for term in joint_terms() if not set(term.keys) <= set(cls.model_fields))
        kind: Any = cls
        return _keys_of(added, kind).model_validate(data) if added else validate(data)

    @model_validator(mode='after')
    def _check(self) -> Self:
        for term in joint_terms():
            term.check_settings(self)
        return self

    def build(self, robot: RobotModel) -> list[JointTerm]:
        """The terms, in the order of their columns.

        Args:
            robot: The robot, for the joints that ``all`` stands for.

        Raises:
            ConfigurationError: A joint has friction that shares its smoothing with Coulomb
                friction which it has not.
        """
        return [term for kind in joint_terms() for term in kind.from_settings(self, robot)]


class RobotSettings(StrictSettings):
    """The ``robot:`` section of a settings file: description and joint terms.

    Attributes:
        description: URDF, xacro or MJCF file, or the YAML file of a planar mechanism, this
            package's or of MBDS, relative to the settings file; or a URDF or MJCF as text, which
            begins with ``<``.
        urdf: Another word for ``description``.
        xacro_arguments: Arguments for xacro.
        locked_joints: Joints held fixed: positions in [rad] or [m] by name or pattern, a list of
            patterns, or ``rest`` for all that are not recorded; see
            :data:`~sysid_ros.robot.locks.Locks`.
        base: Whether the base stands still, whatever free joint an MJCF gives it, or floats and is
            identified as one more body; see
            :func:`~sysid_ros.robot.floating_base.with_floating_base`. Of a robot that floats
            ``recording: sensors`` measure the motion of the base, and the ground's forces. Where
            it is left out, a base with a free joint has to be told.
        gravity: Gravity in the base frame in [m/s²]; change it for a robot on a wall. By
            default what an MJCF says, and standard gravity along -z for a URDF.
        terms: Joint terms. Where there are actuators, their joints have an armature and dry
            friction is smoothed, over 0.02 rad/s or m/s or by as much less as the motion tells,
            unless something else is said.
        actuators: What turns commands into torques, by name of a joint or pattern, where torques
            are not measured; see :class:`~sysid_ros.mechanics.actuators.settings.ActuatorSettings`.
        command_delay: Time from a command to its effect in [s], alike for all actuators;
            ``sought`` for one that is found.
        command_time_constant: Time constant in [s] of a filter of first order that drives put
            before what they are told, alike for all actuators; 0 for none, ``sought`` for one
            that is found. Where it is left out the fit tries one, and keeps it where that explains
            half of the squared errors.
        rotors: Motors' rotors that are identified as bodies of their own.
        loops: YAML file that closes the loops of the robot, relative to the settings file; see
            :class:`~sysid_ros.robot.loops.LoopSettings`.
        assets: Folder that meshes of an MJCF are relative to, itself relative to the settings
            file; that of the description where left out.
    """

    description: str | None = None
    urdf: str | None = None
    xacro_arguments: dict[str, str] = {}
    locked_joints: dict[str, float] | tuple[str, ...] | Literal['rest'] = {}
    base: Literal['fixed', 'floating'] = 'fixed'
    gravity: tuple[float, float, float] | None = None
    terms: TermSettings = TermSettings()
    actuators: dict[str, ActuatorSettings] = {}
    command_delay: Annotated[float, Field(ge=0.0)] | Literal['sought'] = 'sought'
    command_time_constant: Annotated[float, Field(ge=0.0)] | Literal['sought'] = 0.0
    rotors: tuple[GearedRotor, ...] = ()
    loops: str | None = None
    assets: str | None = None

    @field_validator('locked_joints', mode='before')
    @classmethod
    def _positions(cls, locks: Any) -> Any:
        """The word for all joints that are not recorded is no position of one."""
        held = [name for name, at in locks.items() if at == 'rest'] if isinstance(
            locks, dict) else []
        if held:
            raise ConfigurationError(
                'a joint is held at a position', where=f'robot: locked_joints: {held[0]}',
                found='rest', allowed='a number in rad or m',
                fix=f'Write locked_joints: {{{held[0]}: 0.0}}, or locked_joints: '
                f'[{", ".join(map(str, held))}] for zero or the limit next to it')
        return locks

    @model_validator(mode='after')
    def _one_description(self) -> RobotSettings:
        if (self.description is None) == (self.urdf is None):
            raise ConfigurationError(
                'the robot needs exactly one description', where='robot',
                found='none' if self.urdf is None else 'description and urdf',
                allowed='the key urdf or description',
                fix='Write robot: {urdf: robot.urdf}',
            )
        if self.base == 'floating' and self.actuators:
            raise ConfigurationError(
                'motion under commands is simulated of robots whose base stands still',
                where='robot', found='base: floating, and actuators',
                allowed='one of them',
                fix='Record efforts and take actuators out, or hang the robot up and take '
                'base: floating out')
        return self

    @property
    def file(self) -> str:
        """The description's file, relative to the settings file."""
        return self.urdf or self.description or ''

    def source(self, base: Path) -> str | Path:
        """The description's file in a folder, or the text that stands for it."""
        return self.file if self.file.lstrip().startswith('<') else base / self.file

    def build(
        self, base: Path, moving: Sequence[str] | None = None, unpowered: Sequence[str] = (),
    ) -> TorqueModel:
        """Load the robot and put its torque model together.

        Args:
            base: Folder that file names are relative to.
            moving: Joints that move, where all others are to be locked.
            unpowered: Joints that nothing drives.

        Raises:
            ModelError: The description cannot be used, or a name does not exist in it.
        """
        robot = RobotModel.from_description(
            self.source(base), locked_joints=self.locked_joints, moving_joints=moving,
            gravity=self.gravity, xacro_arguments=self.xacro_arguments,
            loops=None if self.loops is None else LoopSettings.load(base / self.loops),
            assets=None if self.assets is None else base / self.assets,
        )
        if self.base == 'floating':
            robot = with_floating_base(robot)
        elif 'base' in self.model_fields_set:
            robot = replace(robot, free_joint='')
        actuators = build_actuators(
            self.actuators, self.command_delay, self.command_time_constant, robot)
        terms = self.terms
        if actuators is not None:
            terms = terms.simulated([
                name for name in driven_joints(robot) if name not in unpowered])
        built = [*terms.described(robot).build(robot), *([actuators] if actuators else [])]
        return TorqueModel(robot.with_rotors(self.rotors), built)
