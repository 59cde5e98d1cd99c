"""An MJCF as MuJoCo itself reads it: classes, orientations, masses of geoms, all resolved.

What tells nothing of the dynamics is taken out before: pictures, sensors, and meshes of bodies
whose inertia is written. So a description is read without its meshes where it does not need them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.errors import ModelError
from sysid_ros.robot.inertia import inertial_parameters, is_consistent

#: How to get MuJoCo.
INSTALL = "pip install 'sysid-ros[mjcf]'"
#: Most copies that one ``<replicate>`` makes.
MAX_COPIES = 1000

_DECORATION = (
    'sensors', 'cameras', 'lights', 'skins', 'keys', 'pairs', 'tuples', 'texts', 'numerics',
    'materials', 'textures',
)
# MuJoCo's numbers, in mjtInertiaFromGeom, mjtGeom and mjtJoint.
_ALWAYS, _NEVER, _HEIGHT_FIELD, _FREE, _SLIDE = 1, 0, 1, 0, 2


@dataclass(frozen=True, eq=False)
class _Inertial:
    """Mass in [kg], centre of mass in [m] and central inertia in [kg·m²] of an ``<inertial>``."""

    mass: float
    com: np.ndarray
    central: np.ndarray
    is_full: bool

    @classmethod
    def of(cls, body: Any) -> _Inertial:
        """Inertial of a body of MuJoCo's specification; zero where there is none."""
        if not body.explicitinertial:
            return cls(0.0, np.zeros(3), np.zeros((3, 3)), True)
        is_full = not np.isnan(body.fullinertia[0])
        xx, yy, zz, xy, xz, yz = body.fullinertia
        central = (
            np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) if is_full
            else np.diag(body.inertia))
        return cls(float(body.mass), np.array(body.ipos), central, is_full)

    def is_real(self) -> bool:
        """Whether a body can have it; where not, MuJoCo might refuse it."""
        return is_consistent(inertial_parameters(self.mass, np.zeros(3), self.central))

    def parameters(self, quaternion: np.ndarray) -> np.ndarray:
        """Inertial parameters in the axes of the body, shape ``(10,)``.

        Args:
            quaternion: Orientation of the principal axes, for an inertia written along those.
        """
        w, x, y, z = (1.0, 0.0, 0.0, 0.0) if self.is_full else quaternion
        turn = pin.Quaternion(w, x, y, z).toRotationMatrix()
        return inertial_parameters(self.mass, self.com, turn @ self.central @ turn.T)


@dataclass(frozen=True, eq=False)
class CompiledMjcf:
    """An MJCF compiled by MuJoCo, with what the compiled model does not tell any more.

    Attributes:
        model: MuJoCo's model, in which every body and joint has a name.
        written: Bodies whose inertia is that of their ``<inertial>``.
        as_written: Inertial parameters, shape ``(10,)``, of bodies whose numbers MuJoCo would
            round, or refuses because they belong to no real body.
        mesh_collisions: Body of each mesh that collides and was taken out.
        from_geoms: Whether geoms win over ``<inertial>`` elements.
        total_mass: Mass in [kg] that all bodies are scaled to, 0 for none.
        bounds: Smallest mass in [kg] and principal moment in [kg·m²] that MuJoCo allows.
        no_room: Ranges in [rad] or [m] of joints that are no limit to MuJoCo, because the lower
            end is not below the upper one.
        nameless: Bodies and joints that got their names here.
        spring_dampers: Joints whose stiffness and damping MuJoCo makes out of the inertia.
        needs_meshes: Whether files of meshes tell the mass of a body.
        repeats: Whether bodies come from ``<replicate>`` or other models, so that they are not
            elements of the document.
    """

    model: Any
    written: frozenset[str]
    as_written: Mapping[str, np.ndarray]
    mesh_collisions: tuple[str, ...]
    from_geoms: bool
    total_mass: float
    bounds: tuple[float, float]
    no_room: Mapping[str, tuple[float, float]]
    nameless: tuple[str, ...]
    spring_dampers: tuple[str, ...]
    needs_meshes: bool
    repeats: bool

    def name(self, kind: str, index: int) -> str:
        """Name of the body, joint, … of an index."""
        return str(getattr(self.model, kind)(index).name)


def compile_mjcf(root: etree._Element, folder: Path | None, where: str) -> CompiledMjcf:
    """Compile an MJCF.

    Args:
        root: The ``<mujoco>`` element, without includes.
        folder: Where it lies, for meshes that tell masses; None if that is not known.
        where: The description, for messages.

    Raises:
        ModelError: MuJoCo is not installed or refuses the description, or a ``<replicate>`` makes
            too many copies.
    """
    try:
        import mujoco
    except ImportError as error:
        raise ModelError(
            'an MJCF is read by MuJoCo, which is not installed', where=where, fix=f'Run {INSTALL}',
        ) from error
    for element in root.iter('replicate'):
        count = element.get('count', '0')
        if not count.isdigit() or int(count) > MAX_COPIES:
            raise ModelError(
                'repeats bodies too often', where=where, found=count, allowed=MAX_COPIES,
                fix='Lower the count of <replicate>')
    try:
        with warnings.catch_warnings():
            # Of attributes that are out of fashion, which is for whoever wrote the file.
            warnings.simplefilter('ignore')
            spec = mujoco.MjSpec.from_string(etree.tostring(root, encoding='unicode'))
            if folder is not None:
                spec.modelfiledir = str(folder)
            bodies = [body for world in root.findall('worldbody') for body in world.iter('body')]
            return _compiled(spec, len(bodies))
    except (ValueError, mujoco.FatalError) as error:
        words = ' '.join(str(error).split()).removeprefix('XML ').removeprefix('Error: ')
        raise ModelError(
            f'MuJoCo refuses the description: {words}', where=where,
            fix='Mend the file in a text editor',
        ) from error


def _compiled(spec: Any, elements: int) -> CompiledMjcf:
    compiler = spec.compiler
    nameless = _give_names(spec)
    no_room = {joint.name: _range(joint, compiler) for joint in spec.joints
               if joint.range.any() and joint.range[0] >= joint.range[1]}
    meshes = _take_out(spec)
    # MuJoCo would merge bodies that do not move, and turn the frame of a free one.
    compiler.fusestatic, compiler.alignfree, compiler.discardvisual = False, False, False
    changes = (
        compiler.balanceinertia or compiler.settotalmass > 0.0
        or compiler.boundmass > 0.0 or compiler.boundinertia > 0.0
    )
    written = {
        body.name for body in spec.bodies if body.explicitinertial and not (
            compiler.inertiafromgeom == _ALWAYS and any(_has_mass(g, compiler) for g in body.geoms))
    }
    exact = {} if changes else _exact_inertials(spec, written)
    model = spec.compile()
    return CompiledMjcf(
        model=model, written=frozenset(written),
        as_written={name: one.parameters(model.body(name).iquat) for name, one in exact.items()},
        mesh_collisions=meshes,
        from_geoms=compiler.inertiafromgeom == _ALWAYS,
        total_mass=max(float(compiler.settotalmass), 0.0),
        bounds=(float(compiler.boundmass), float(compiler.boundinertia)),
        no_room=no_room,
        nameless=nameless,
        spring_dampers=tuple(
            joint.name for joint in spec.joints if np.any(joint.springdamper)),
        needs_meshes=bool(spec.meshes),
        repeats=elements != model.nbody - 1,
    )


def _exact_inertials(spec: Any, written: set[str]) -> dict[str, _Inertial]:
    """Inertias that MuJoCo would round or refuse; it gets others in place of the latter."""
    exact = {}
    for body in spec.bodies:
        if body.name not in written and any(_has_mass(geom, spec.compiler) for geom in body.geoms):
            continue
        inertial = _Inertial.of(body)
        if not np.isfinite([inertial.mass, *inertial.com, *inertial.central.ravel()]).all():
            continue
        if not inertial.is_real():
            body.explicitinertial, body.mass, body.inertia = True, 1.0, np.ones(3)
            body.fullinertia = np.array([np.nan, 0.0, 0.0, 0.0, 0.0, 0.0])
        elif not inertial.is_full:
            continue
        exact[body.name] = inertial
    return exact


def _give_names(spec: Any) -> tuple[str, ...]:
    """Name bodies and joints that have none, by number and by body; those names."""
    given = []
    bodies = {body.name for body in spec.bodies}
    for index, body in enumerate(spec.bodies):
        if not body.name:
            body.name = _free_name(f'body{index}', bodies)
            given.append(body.name)
    joints = {joint.name for joint in spec.joints}
    for joint in spec.joints:
        joint.align = 0
        if not joint.name:
            kind = 'free' if joint.type == _FREE else 'joint'
            joint.name = _free_name(f'{joint.parent.name}_{kind}', joints)
            given.append(joint.name)
    return tuple(given)


def _range(joint: Any, compiler: Any) -> tuple[float, float]:
    """Range of a joint as written, in [rad] or [m]."""
    unit = np.pi / 180.0 if compiler.degree and joint.type != _SLIDE else 1.0
    return float(joint.range[0] * unit), float(joint.range[1] * unit)


def _free_name(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += '_'
    taken.add(wanted)
    return wanted


def _take_out(spec: Any) -> tuple[str, ...]:
    """Delete what tells nothing of the dynamics; bodies of meshes that collide."""
    for element in (*spec.geoms, *spec.sites, *spec.tendons):
        element.material = ''
    for kind in _DECORATION:
        for element in list(getattr(spec, kind)):
            spec.delete(element)
    collide, needed, moving = [], set(), _moving(spec)
    for geom in list(spec.geoms):
        counts = geom.parent.name in moving or spec.compiler.settotalmass > 0.0
        if geom.meshname and counts and _tells_mass(geom, spec.compiler):
            needed.add(geom.meshname)
        elif geom.meshname or geom.type == _HEIGHT_FIELD:
            if geom.meshname and (geom.contype or geom.conaffinity):
                collide.append(geom.parent.name)
            spec.delete(geom)
    for mesh in list(spec.meshes):
        if mesh.name not in needed and _file_name(mesh) not in needed:
            spec.delete(mesh)
    for field in list(spec.hfields):
        spec.delete(field)
    return tuple(collide)


def _moving(spec: Any) -> set[str]:
    """Bodies that move, and so have a mass that matters."""
    found: set[str] = set()
    for body in spec.bodies:
        if body.joints or (body.parent is not None and body.parent.name in found):
            found.add(body.name)
    return found


def _file_name(mesh: Any) -> str:
    """What a mesh without a name is called by."""
    return Path(mesh.file).stem


def _has_mass(geom: Any, compiler: Any) -> bool:
    first, last = compiler.inertiagrouprange
    mass = geom.density if np.isnan(geom.mass) else geom.mass
    return bool(first <= geom.group <= last and mass != 0.0)


def _tells_mass(geom: Any, compiler: Any) -> bool:
    if compiler.inertiafromgeom == _NEVER or not _has_mass(geom, compiler):
        return False
    return compiler.inertiafromgeom == _ALWAYS or not geom.parent.explicitinertial
